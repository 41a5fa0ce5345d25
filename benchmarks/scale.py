"""Classes of 10, 100 and 1,000 of the light lab: the cost per submission, the memory in all, and a second run.

To choose the sizes of the classes: `python -m benchmarks.scale 10 100`.
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
from benchmarks.classroom import LIGHT_LAB, copy_course, create_course, submit_class
from benchmarks.command_cost import Cost, compute_median_cost, compute_submission_cost
from benchmarks.graders import JOBS, run_gradlab

COUNTS = (10, 100, 1000)
SAMPLE_SECONDS = 0.2
TURNS = 3
MIN_SUBMISSIONS = 50  # per turn: a class of 10 is graded five times, since its start costs more than the rest


@dataclass(frozen=True)
class ClassTurn:
    """A class graded in one turn, compared with a class that takes hardly longer than the start."""

    command: Cost
    """The cost of the whole command."""
    submission: Cost
    """The cost per submission, without the start."""


def run(counts: Sequence[int] = COUNTS, turns: int = TURNS) -> str:
    """Return a Markdown table with a row for each size of the class.

    Args:
        turns: Each turn grades every class, so slower and faster times of the machine affect all of them.
    """
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (lab,) = create_course(base / "course", [LIGHT_LAB])
        _grade_class(base, lab, JOBS + 1)  # warms up
        by_turn = [[_measure_turn(base, lab, count) for count in counts] for _ in range(turns)]
        by_count = list(zip(*by_turn, strict=True))
        rows = [
            _format_row(count, count_turns, by_count[0], base / str(count), lab)
            for count, count_turns in zip(counts, by_count, strict=True)
        ]
    return (
        "# Small and large classes\n\n"
        f"The light lab, {JOBS} at a time, isolation {find_strongest_level(find_layers())}. "
        f"Seconds per submission, medians of {turns} turns. Each turn graded every class, those of fewer than "
        f"{MIN_SUBMISSIONS} several times. Start-up is the time of a class of {JOBS}, which was graded right before "
        "each. The ratio is the median of the ratios within a turn. Memory is that of all processes together, with "
        f"shared pages counted once: the median and the maximum of samples taken every {SAMPLE_SECONDS:g} s in a "
        "separate run. A longer run has more samples, so it's likelier that two processes are large in the same one. "
        f"Python {platform.python_version()}, torch {torch.__version__}, {os.cpu_count()} cores.\n\n"
        "| submissions | wall, whole command | wall, without start-up | CPU, whole command "
        "| CPU, without start-up | the same, relative to the first row | memory, MB, median | maximum "
        "| second run, wall | second run, CPU | second run, graded |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n" + "".join(rows)
    )


def _measure_turn(base: Path, lab: Lab, count: int) -> ClassTurn:
    commands, submissions = [], []
    for _ in range(max(1, MIN_SUBMISSIONS // count)):
        small, large = _grade_class(base, lab, JOBS), _grade_class(base, lab, count)
        commands.append(large)
        submissions.append(compute_submission_cost(large, count, small, JOBS))
    return ClassTurn(compute_median_cost(commands), compute_median_cost(submissions))


def _grade_class(base: Path, lab: Lab, count: int) -> Cost:
    """Grade a class of this size in a new course, base/COUNT."""
    course = base / str(count)
    shutil.rmtree(course, ignore_errors=True)
    copy_course(base / "course", lab.name, course)
    submit_class(course, lab, count)
    return run_gradlab(course, lab.name)


def _format_row(
    count: int, turns: Sequence[ClassTurn], first_turns: Sequence[ClassTurn], course: Path, lab: Lab
) -> str:
    """Format a row, after a second run of the class and one that samples memory.

    Args:
        first_turns: The turns of the first row.
    """
    command = compute_median_cost([turn.command for turn in turns])
    submission = compute_median_cost([turn.submission for turn in turns])
    ratio = median(turn.submission.cpu / first.submission.cpu for turn, first in zip(turns, first_turns, strict=True))
    second = run_gradlab(course, lab.name)
    sampled = run_gradlab(course, lab.name, sample_seconds=SAMPLE_SECONDS, include_current=True)
    return (
        f"| {count:,} | {command.wall / count:.3f} | {submission.wall:.3f} | {command.cpu / count:.3f} "
        f"| {submission.cpu:.3f} | {ratio:.2f} | {sampled.median_memory / 1e6:.0f} | {sampled.peak_memory / 1e6:.0f} "
        f"| {second.wall:.1f} | {second.cpu:.1f} | {_read_graded_count(second)} |\n"
    )


def _read_graded_count(cost: Cost) -> int:
    """Read how many submissions a run graded from what it printed at its end."""
    match = re.search(r"(\d+) graded", cost.output)
    assert match is not None, cost.output
    return int(match[1])


if __name__ == "__main__":
    print(run([int(number) for number in sys.argv[1:]] or COUNTS))
