"""A class made of a lab's answers, graded by the floor, by gradlab, by nbgrader and by otter-grader, in one run.

`python -m benchmarks.classes --students 24 --labs light_lab` does it for classes and labs of your choice.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import mean, median

import torch

from autograder.model.course import Lab
from autograder.sandbox import find_layers, find_strongest_level
from benchmarks import otter_grader
from benchmarks.classroom import LIGHT, copy_for, hand_in, new_course
from benchmarks.compare import Marks, differing_marks, differing_outputs, marks_in
from benchmarks.floor import Run
from benchmarks.measure import Cost, median_of, per_submission
from benchmarks.paths import JOBS, floor, gradlab, stock, student_memory

OTHERS_TURNS = 1
LARGER = 4
HEAD = (
    "| lab | path | submissions | wall, whole command | wall, without the start | CPU | CPU against the floor |\n"
    "|---|---|---|---|---|---|---|\n"
)
RATIOS = (
    "| lab | nbgrader's wall against gradlab's, whole command | without the start | nbgrader's CPU against gradlab's "
    "| otter's wall against gradlab's | CPU beyond the floor, ms | memory of a student process, MB "
    "| marks that differ | outputs that differ |\n|---|---|---|---|---|---|---|---|---|\n"
)


@dataclass(frozen=True)
class Timed:
    """Seconds a submission, medians. whole: of the whole command. each: without its start."""

    count: int
    whole: float
    each: Cost


@dataclass(frozen=True)
class Measured:
    """A lab's class. timed: by path. memory: bytes. marks, cells: how many were compared."""

    lab: str
    timed: dict[str, Timed]
    memory: int
    marks: int
    differing_marks: list[str]
    cells: int
    differing_cells: list[str]


def run(students: int = 24, others: int = 6, turns: int = 3, otters: int = 2, labs: Sequence[str] = ()) -> str:
    """Markdown tables. students: of the light lab. others: of each other lab. turns: of the floor and of gradlab.

    otters: submissions of the light lab for otter-grader; of each other lab half of them. labs: by name; all where none
    is named.
    """
    found = []
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        otter = otter_grader.install(base / "otter")
        for lab in new_course(base / "course"):
            if lab.name == LIGHT and (not labs or LIGHT in labs):
                found.append(_measured(base, lab, students, turns, otter, otters))
            elif not labs or lab.name in labs:
                found.append(_measured(base, lab, others, min(turns, OTHERS_TURNS), otter, (otters + 1) // 2))
    differing = [f"- {one.lab}: {word}\n" for one in found for word in (*one.differing_marks, *one.differing_cells)]
    return (
        "# A class, graded by everybody\n\n"
        f"Seconds a submission, medians of {turns} turns of the floor and of gradlab ({min(turns, OTHERS_TURNS)} for "
        "the course's own labs), between which the others ran. CPU is that of all processes together, without the "
        f"start of the command: for gradlab, what a class of {LARGER} times the same notebooks takes more; for "
        "nbgrader, what a class of one takes less. The floor runs the same cells and checks in a fork of one warm "
        f"process. gradlab grades {JOBS} at a time, isolation {find_strongest_level(find_layers())}. nbgrader "
        f"{version('nbgrader')} and otter-grader {otter_grader.VERSION} are as installed; otter starts anew for "
        f"each submission. Python {platform.python_version()}, torch {torch.__version__}, {os.cpu_count()} cores.\n\n"
        + HEAD
        + "".join(map(_rows, found))
        + "\n"
        + RATIOS
        + "".join(map(_ratios, found))
        + f"\nWhat differs: {len(differing)}.\n\n{''.join(differing)}"
    )


def _measured(base: Path, lab: Lab, count: int, turns: int, otter: Path, otters: int) -> Measured:
    name = lab.name
    floors: list[dict[str, Run]] = []
    wholes: list[Cost] = []
    larges: list[Cost] = []
    gradlab(_course(base, lab, JOBS), name)  # warms up
    for turn in range(turns):
        course = _course(base, lab, count)
        floors.append(floor(course, name))
        wholes.append(gradlab(course, name))
        larges.append(gradlab(_course(base, lab, LARGER * count, count), name))
        if turn == 0:
            theirs, one = _course(base, lab, count), _course(base, lab, 1)
            stock_one, stock_whole = stock(one, name), stock(theirs, name)
    otter_costs, otter_marks = _otter(base, lab, course, otter, otters)
    each = [per_submission(many, LARGER * count, few, count) for many, few in zip(larges, wholes, strict=True)]
    timed = {
        "floor": _floor(floors),
        "gradlab": Timed(count, median_of(wholes).wall / count, median_of(each)),
        "nbgrader": Timed(count, stock_whole.wall / count, per_submission(stock_whole, count, stock_one, 1)),
        "otter": Timed(len(otter_costs), median_of(otter_costs).wall, median_of(otter_costs)),
    }
    marks = marks_in(course, name)
    floor_marks = {student: run.points for student, run in floors[-1].items()}
    paths: dict[str, Marks] = {"floor": floor_marks, "nbgrader": marks_in(theirs, name), "otter": otter_marks}
    wrong = [
        f"marks of gradlab and {path}: {w}" for path, found in paths.items() for w in differing_marks(marks, found)
    ]
    compared = sum(len(points) for found in paths.values() for points in found.values())
    cells, outputs = differing_outputs(course, theirs, name)
    memory = student_memory(course, name, "student_0000")
    return Measured(name, timed, memory, compared, wrong, cells, [f"output of {cell}" for cell in outputs])


def _rows(one: Measured) -> str:
    base = one.timed["floor"].each.cpu
    return "".join(
        f"| {one.lab} | {path} | {timed.count} | {timed.whole:.3f} | {timed.each.wall:.3f} | {timed.each.cpu:.3f} "
        f"| {timed.each.cpu / base:.1f} |\n"
        for path, timed in one.timed.items()
    )


def _ratios(one: Measured) -> str:
    base, ours, stocks, otters = (one.timed[path] for path in ("floor", "gradlab", "nbgrader", "otter"))
    return (
        f"| {one.lab} | {stocks.whole / ours.whole:.1f} | {stocks.each.wall / ours.each.wall:.1f} "
        f"| {stocks.each.cpu / ours.each.cpu:.1f} | {otters.whole / ours.whole:.1f} "
        f"| {1e3 * (ours.each.cpu - base.each.cpu):.0f} | {one.memory / 1e6:.0f} "
        f"| {len(one.differing_marks)} of {one.marks} | {len(one.differing_cells)} of {one.cells} |\n"
    )


def _course(base: Path, lab: Lab, count: int, different: int = 0) -> Path:
    """A class that nobody has graded. different: its notebooks repeat after so many."""
    course = copy_for(base / "course", lab.name, Path(tempfile.mkdtemp(dir=base)) / "course")
    hand_in(course, lab, count, different)
    return course


def _otter(base: Path, lab: Lab, course: Path, otter: Path, count: int) -> tuple[list[Cost], Marks]:
    """Of students at both ends of the class."""
    folder = Path(tempfile.mkdtemp(dir=base))
    autograder = otter_grader.assignment(otter, lab, folder)
    costs, marks = [], {}
    students = sorted(path.name for path in (course / "submitted").iterdir())
    for student in [*students[: (count + 1) // 2], *students[len(students) - count // 2 :]]:
        notebook = course / "submitted" / student / lab.name / f"{lab.name}.ipynb"
        cost, marks[student] = otter_grader.grade(otter, autograder, notebook, folder / student)
        costs.append(cost)
    return costs, marks


def _floor(turns: Sequence[dict[str, Run]]) -> Timed:
    """From the means of the turns, as the others' are: an answer may take long."""
    wall = median(mean(run.wall for run in turn.values()) for turn in turns)
    return Timed(len(turns[0]), wall, Cost(wall, median(mean(run.cpu for run in turn.values()) for turn in turns)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=24, help="of the light lab")
    parser.add_argument("--others", type=int, default=6, help="of each other lab")
    parser.add_argument("--turns", type=int, default=3, help="of the floor and of gradlab")
    parser.add_argument("--otters", type=int, default=2, help="submissions for otter-grader")
    parser.add_argument("--labs", nargs="*", default=(), help="by name; all where none is named")
    print(run(**vars(parser.parse_args())))
