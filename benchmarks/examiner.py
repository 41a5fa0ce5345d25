"""What the examiner and the sandbox cost: CPU beyond running the same cells and checks in one warm process."""

from __future__ import annotations

import importlib
import os
import platform
import resource
from collections.abc import Sequence
from pathlib import Path

import torch

from autograder.build.course import read_course, read_labs
from autograder.build.notebooks import source_notebook
from autograder.examiner.submission import Step, examine
from autograder.runner.grading import exercises_of, steps_of
from autograder.runner.warm import Warm
from autograder.runner.warm_main import FIRST_USED, make_forks_cheap
from autograder.student.kernel import Kernel
from labkit.outcome import earned

ROOT = Path(__file__).parent.parent
RUNS = 20
TICK = os.sysconf("SC_CLK_TCK")


def run() -> str:
    """A Markdown table of milliseconds of CPU a submission, means of RUNS turns that were taken in alternation."""
    torch.set_num_threads(1)
    warm, kernel = Warm(), Kernel()
    for name in FIRST_USED:  # so that the fork compared with has all that a student process has
        importlib.import_module(name)
    make_forks_cheap()
    rows = []
    for lab in read_labs(read_course(ROOT)):
        steps = steps_of(source_notebook(lab))
        checks = sum(step.kind == "check" for step in steps)
        empty = floor = whole = 0.0
        for turn in range(-1, RUNS):  # the first one warms up
            times = _examined([], warm), _alone(steps, kernel), _examined(steps, warm)
            if turn >= 0:
                empty, floor, whole = (
                    total + 1e3 * t / RUNS for total, t in zip((empty, floor, whole), times, strict=True)
                )
        cell = (whole - floor - empty) / checks
        rows.append(f"| {lab.name} | {checks} | {floor:.0f} | {whole:.0f} | {empty:.1f} | {cell:.1f} |")
    warm.close()
    return (
        "# What the examiner and the sandbox cost\n\n"
        f"Milliseconds of CPU of all processes together, means of {RUNS} runs of the worked solutions. Layers: "
        f"{', '.join(warm.layers)}. Python {platform.python_version()}, torch {torch.__version__}, {os.cpu_count()} "
        "cores.\n\n"
        "| lab | check cells | the same cells in a fork of one warm process | examined, in the sandbox "
        "| of which: a submission without a cell | and each check cell |\n|---|---|---|---|---|---|\n"
        + "\n".join(rows)
        + "\n"
    )


def _alone(steps: Sequence[Step], kernel: Kernel) -> float:
    """Seconds of CPU of a fork that runs every cell."""
    before = _own(resource.RUSAGE_CHILDREN)
    child = os.fork()
    if child == 0:
        try:
            torch.set_num_threads(1)
            for step in steps:
                kernel.run(step.source)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    return _own(resource.RUSAGE_CHILDREN) - before


def _examined(steps: Sequence[Step], warm: Warm) -> float:
    """Seconds of CPU of the examiner, the warm process and the student process."""
    before = _own(resource.RUSAGE_SELF) + _of_warm(warm)
    seen = examine(steps, exercises_of(steps), warm.student)
    took = _own(resource.RUSAGE_SELF) + _of_warm(warm) - before
    if not all(earned(came.outcomes, 1) == 1 for step, came in seen.items() if step.startswith("check-")):
        raise SystemExit("a worked solution lost a point: nothing can be compared")
    return took


def _own(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def _of_warm(warm: Warm) -> float:
    """Of the warm process and of all that it has waited for."""
    fields = Path(f"/proc/{warm.started.process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICK
