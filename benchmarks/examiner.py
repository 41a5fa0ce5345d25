"""What the examiner and the sandbox cost: CPU beyond running the same cells and checks in one fork server."""

from __future__ import annotations

import os
import platform
import resource
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import nbformat
import psutil
import torch

from autograder.authoring.course_folder import read_course, read_labs
from autograder.authoring.notebooks import build_source_notebook
from autograder.base.fork_memory import make_forks_cheap
from autograder.examiner.examination import Step, examine_steps
from autograder.forkserver.client import ForkServer, ProcessSettings
from autograder.grading.lab_cells import parse_cells
from autograder.workers.compile_cache import prepare_compile_cache
from benchmarks.floor import new_floor
from labkit.outcome import compute_earned

ROOT = Path(__file__).parent.parent
RUNS = 10


def run() -> str:
    """A Markdown table of milliseconds of CPU a submission, medians of RUNS turns that were taken in alternation.

    What is beyond the floor is the median of the differences within a turn: a busy neighbour is beside both then.
    """
    torch.set_num_threads(1)
    make_forks_cheap()
    rows, layers = [], frozenset[str]()
    with new_floor() as floor:
        for lab in read_labs(read_course(ROOT)):
            notebook = build_source_notebook(lab)
            steps = [cell.step for cell in parse_cells(notebook)]
            checks = sum(step.kind == "check" for step in steps)
            fork_server = ForkServer(
                ProcessSettings(compiled=prepare_compile_cache(nbformat.writes(notebook).encode()))
            )
            layers = frozenset(fork_server.layers)
            turns = [
                (_examined([], fork_server), floor.run(steps).cpu, _examined(steps, fork_server))
                for _ in range(RUNS + 1)
            ]
            fork_server.close()
            counted = [[1e3 * seconds for seconds in turn] for turn in turns[1:]]  # the first one warms up
            empty, alone, whole = (median(turn) for turn in zip(*counted, strict=True))
            beyond = median(together - floor_only for _, floor_only, together in counted)
            rows.append(
                f"| {lab.name} | {checks} | {alone:.0f} | {whole:.0f} | {beyond:.0f} | {empty:.1f} "
                f"| {(beyond - empty) / checks:.1f} |"
            )
    return (
        "# What the examiner and the sandbox cost\n\n"
        f"Milliseconds of CPU of all processes together, medians of {RUNS} turns with the worked solutions. Layers: "
        f"{', '.join(sorted(layers))}. Python {platform.python_version()}, torch {torch.__version__}, {os.cpu_count()} "
        "cores.\n\n"
        "| lab | check cells | the floor: the same cells in a fork of one fork server | examined, in the sandbox "
        "| beyond the floor | of which: a submission without a cell | and each check cell |\n"
        "|---|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def _examined(steps: Sequence[Step], fork_server: ForkServer) -> float:
    """Seconds of CPU of the examiner, the fork server and the student process."""
    before = _own(resource.RUSAGE_SELF) + _of_warm(fork_server)
    seen = examine_steps(steps, fork_server.start_process)
    took = _own(resource.RUSAGE_SELF) + _of_warm(fork_server) - before
    if not all(compute_earned(came.outcomes, 1) == 1 for step, came in seen.items() if step.startswith("check-")):
        raise SystemExit("a worked solution lost a point: nothing can be compared")
    return took


def _own(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def _of_warm(fork_server: ForkServer) -> float:
    """Of the fork server and of all that it has waited for."""
    return sum(psutil.Process(fork_server.server_process.process.pid).cpu_times()[:4])
