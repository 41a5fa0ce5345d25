"""Classes of 10, 100 and 1,000 of the light lab: what a submission costs, what all takes of memory, a second run.

`python -m benchmarks.scale 10 100` does it for numbers of your choice.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch

from autograder.course import Lab
from autograder.sandbox import available, strongest_level
from benchmarks.classroom import copy_for, hand_in, new_course
from benchmarks.measure import Cost, median_of, per_submission
from benchmarks.paths import JOBS, gradlab

COUNTS = (10, 100, 1000)
SAMPLE_SECONDS = 0.2
TURNS_FOR = 300  # submissions: smaller classes are graded several times, so that the start can be taken off


def run(counts: Sequence[int] = COUNTS, most_turns: int = 9) -> str:
    """A Markdown table. most_turns: of a small class, whose start costs more than its submissions."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        lab = new_course(base / "course")[0]
        _row(base, lab, JOBS + 1, 1)  # warms up
        rows = [_row(base, lab, count, max(1, min(most_turns, TURNS_FOR // count))) for count in counts]
    first = rows[0][0]
    lines = [
        f"| {count:,} | {turns} | {whole.wall / count:.3f} | {each.wall:.3f} | {whole.cpu / count:.3f} "
        f"| {each.cpu:.3f} | {each.cpu / first.cpu:.2f} | {held.middle / 1e6:.0f} | {held.peak / 1e6:.0f} "
        f"| {again.wall:.1f} | {again.cpu:.1f} | {_graded(again, count)} |\n"
        for count, (each, whole, held, again, turns) in zip(counts, rows, strict=True)
    ]
    return (
        "# Classes of ten and of a thousand\n\n"
        f"The light lab, {JOBS} at a time, isolation {strongest_level(available())}. Seconds a submission, medians of "
        f"the turns; the start is what a class of {JOBS} takes, which was graded in turns with the others. Memory is "
        "that of all processes together, shared pages counted once, the median and the most of a look every "
        f"{SAMPLE_SECONDS:g} s in a run of its own: the longer a run, the more looks find two large moments at once. "
        f"Python {platform.python_version()}, torch {torch.__version__}, "
        f"{os.cpu_count()} cores.\n\n"
        "| submissions | turns | wall, whole command | wall, without the start | CPU, whole command "
        "| CPU, without the start | that against the first row | memory, MB, median | most "
        "| second run, wall | its CPU | graded in it |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|\n" + "".join(lines)
    )


def _row(base: Path, lab: Lab, count: int, turns: int) -> tuple[Cost, Cost, Cost, Cost, int]:
    """The cost of each without the start, of the whole command, of one with looks at memory, a second run, turns."""
    wholes: list[Cost] = []
    smalls: list[Cost] = []
    for _ in range(turns):
        for many, found in ((JOBS, smalls), (count, wholes)):
            course = base / str(many)
            shutil.rmtree(course, ignore_errors=True)
            copy_for(base / "course", lab.name, course)
            hand_in(course, lab, many)
            found.append(gradlab(course, lab.name))
    again = gradlab(course, lab.name)
    held = gradlab(course, lab.name, sample=SAMPLE_SECONDS, again=True)
    each = [per_submission(whole, count, small, JOBS) for whole, small in zip(wholes, smalls, strict=True)]
    return median_of(each), median_of(wholes), held, again, turns


def _graded(again: Cost, count: int) -> int:
    """How many submissions a run did not find graded before, by what it says at its end."""
    kept = f"{count} of {count} submissions graded, {count} of them before"
    return 0 if kept in again.output else count


if __name__ == "__main__":
    print(run([int(number) for number in sys.argv[1:]] or COUNTS))
