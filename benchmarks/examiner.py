"""What the examiner and the sandbox cost: CPU time beyond running the same cells and checks on the floor."""

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
from autograder.forkserver.client import ForkServerClient, ProcessSettings
from autograder.grading.lab_cells import parse_cells
from autograder.workers.compile_cache import prepare_compile_cache
from benchmarks.floor import start_floor
from labkit.outcome import compute_earned

ROOT = Path(__file__).parent.parent
TURNS = 10


def run() -> str:
    """Return a Markdown table of CPU milliseconds per submission, medians of TURNS turns taken in alternation.

    The cost beyond the floor is the median of the differences within a turn, since other load on the machine then
    affects both.
    """
    torch.set_num_threads(1)
    make_forks_cheap()
    rows, layers = [], frozenset[str]()
    with start_floor() as floor:
        for lab in read_labs(read_course(ROOT)):
            notebook = build_source_notebook(lab)
            steps = [cell.step for cell in parse_cells(notebook)]
            checks = sum(step.kind == "check" for step in steps)
            fork_server = ForkServerClient(
                ProcessSettings(compiled=prepare_compile_cache(nbformat.writes(notebook).encode()))
            )
            layers = frozenset(fork_server.layers)
            turns = [
                (_measure_examination([], fork_server), floor.run(steps).cpu, _measure_examination(steps, fork_server))
                for _ in range(TURNS + 1)
            ]
            fork_server.close()
            milliseconds = [[1e3 * seconds for seconds in turn] for turn in turns[1:]]  # the first one warms up
            empty, on_floor, examined = (median(turn) for turn in zip(*milliseconds, strict=True))
            beyond = median(turn_examined - turn_floor for _, turn_floor, turn_examined in milliseconds)
            rows.append(
                f"| {lab.name} | {checks} | {on_floor:.0f} | {examined:.0f} | {beyond:.0f} | {empty:.1f} "
                f"| {(beyond - empty) / checks:.1f} |"
            )
    return (
        "# What the examiner and the sandbox cost\n\n"
        f"Milliseconds of CPU of all processes together, medians of {TURNS} turns with the worked solutions. Layers: "
        f"{', '.join(sorted(layers))}. Python {platform.python_version()}, torch {torch.__version__}, {os.cpu_count()} "
        "cores.\n\n"
        "| lab | check cells | the floor: the same cells in a fork of one warm process "
        "| with the examiner and the sandbox | beyond the floor | of that, a submission without cells "
        "| of that, each check cell |\n"
        "|---|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def _measure_examination(steps: Sequence[Step], fork_server: ForkServerClient) -> float:
    """Measure the CPU seconds of the examiner, the fork server and the student process.

    Raises:
        SystemExit: If a check doesn't earn all of its points.
    """
    before = _measure_process_cpu(resource.RUSAGE_SELF) + _measure_server_cpu(fork_server)
    results = examine_steps(steps, fork_server.start_process)
    seconds = _measure_process_cpu(resource.RUSAGE_SELF) + _measure_server_cpu(fork_server) - before
    if not all(compute_earned(each.outcomes, 1) == 1 for step, each in results.items() if step.startswith("check-")):
        raise SystemExit("a worked solution lost a point, so the times can't be compared")
    return seconds


def _measure_process_cpu(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def _measure_server_cpu(fork_server: ForkServerClient) -> float:
    """Measure the CPU seconds of the fork server and of all processes that it has waited for."""
    return sum(psutil.Process(fork_server.server_process.process.pid).cpu_times()[:4])
