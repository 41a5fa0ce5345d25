"""Classes of 10, 100 and 1,000 of the light lab: what a submission costs, what all takes of memory, a second run.

`python -m benchmarks.scale 10 100` does it for numbers of your choice.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import torch

from autograder.model.course import Lab
from autograder.sandbox import find_layers, find_strongest_level
from benchmarks.classroom import copy_for, hand_in, new_course
from benchmarks.measure import Cost, median_of, per_submission
from benchmarks.paths import JOBS, gradlab

COUNTS = (10, 100, 1000)
SAMPLE_SECONDS = 0.2
TURNS = 3
PAIRS_FOR = 50  # submissions in a turn: a class of ten is graded five times, since its start costs more than the rest


@dataclass(frozen=True)
class Turn:
    """A class graded, and beside it one that is nearly all start. each: a submission, without the start."""

    whole: Cost
    each: Cost


def run(counts: Sequence[int] = COUNTS, turns: int = TURNS) -> str:
    """A Markdown table. turns: each grades every class, so that all meet the machine's faster and slower times."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        lab = new_course(base / "course")[0]
        _graded_class(base, lab, JOBS + 1)  # warms up
        found = list(zip(*[[_turn(base, lab, count) for count in counts] for _ in range(turns)], strict=True))
        lines = [
            _line(count, of_count, found[0], base / str(count), lab)
            for count, of_count in zip(counts, found, strict=True)
        ]
    return (
        "# Classes of ten and of a thousand\n\n"
        f"The light lab, {JOBS} at a time, isolation {find_strongest_level(find_layers())}. "
        "Seconds a submission, medians of "
        f"{turns} turns, in each of which every class was graded, those of fewer than {PAIRS_FOR} several times; the "
        f"start is what a class of {JOBS} takes, which was graded right before each. The ratio is the median of those "
        "within a turn. Memory is that of all processes together, shared pages counted once, the median and the most "
        f"of a look every {SAMPLE_SECONDS:g} s in a run of its own: the longer a run, the more looks find two large "
        f"moments at once. Python {platform.python_version()}, torch {torch.__version__}, {os.cpu_count()} cores.\n\n"
        "| submissions | wall, whole command | wall, without the start | CPU, whole command "
        "| CPU, without the start | that against the first row | memory, MB, median | most "
        "| second run, wall | its CPU | graded in it |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n" + "".join(lines)
    )


def _turn(base: Path, lab: Lab, count: int) -> Turn:
    wholes, eaches = [], []
    for _ in range(max(1, PAIRS_FOR // count)):
        small, whole = _graded_class(base, lab, JOBS), _graded_class(base, lab, count)
        wholes.append(whole)
        eaches.append(per_submission(whole, count, small, JOBS))
    return Turn(median_of(wholes), median_of(eaches))


def _graded_class(base: Path, lab: Lab, count: int) -> Cost:
    """What `gradlab grade` took for a class of this size, in a new course base/COUNT."""
    course = base / str(count)
    shutil.rmtree(course, ignore_errors=True)
    copy_for(base / "course", lab.name, course)
    hand_in(course, lab, count)
    return gradlab(course, lab.name)


def _line(count: int, turns: Sequence[Turn], first: Sequence[Turn], course: Path, lab: Lab) -> str:
    """A row, with a second run of the class and one with looks at memory. first: the turns of the first row."""
    whole, each = median_of([turn.whole for turn in turns]), median_of([turn.each for turn in turns])
    ratio = median(turn.each.cpu / other.each.cpu for turn, other in zip(turns, first, strict=True))
    again = gradlab(course, lab.name)
    held = gradlab(course, lab.name, sample=SAMPLE_SECONDS, again=True)
    return (
        f"| {count:,} | {whole.wall / count:.3f} | {each.wall:.3f} | {whole.cpu / count:.3f} | {each.cpu:.3f} "
        f"| {ratio:.2f} | {held.middle / 1e6:.0f} | {held.peak / 1e6:.0f} "
        f"| {again.wall:.1f} | {again.cpu:.1f} | {_graded(again)} |\n"
    )


def _graded(again: Cost) -> int:
    """How many submissions a run did not find graded before, by what it says at its end."""
    found = re.search(r"(\d+) graded", again.output)
    assert found is not None, again.output
    return int(found[1])


if __name__ == "__main__":
    print(run([int(number) for number in sys.argv[1:]] or COUNTS))
