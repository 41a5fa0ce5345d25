"""A class made of a lab's answers, graded in one run by the floor, gradlab, nbgrader and otter-grader.

To choose the classes and the labs: `python -m benchmarks.classes --students 24 --labs light_lab`.
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
from benchmarks.classroom import LIGHT_LAB, copy_course, create_course, submit_class
from benchmarks.command_cost import Cost, compute_median_cost, compute_submission_cost
from benchmarks.comparison import Marks, compare_outputs, find_differing_marks, read_marks
from benchmarks.floor import FloorRun
from benchmarks.graders import JOBS, measure_student_memory, run_floor, run_gradlab, run_nbgrader

OTHER_LABS_TURNS = 1
LARGER = 4  # times as many submissions, in the class that shows what one more of them costs
TIMES_HEAD = (
    "| lab | grader | submissions | wall, whole command | wall, without start-up | CPU | CPU relative to the floor |\n"
    "|---|---|---|---|---|---|---|\n"
)
RATIOS_HEAD = (
    "| lab | nbgrader's wall / gradlab's, whole command | without start-up | nbgrader's CPU / gradlab's "
    "| otter's wall / gradlab's | CPU beyond the floor, ms | memory of a student process, MB "
    "| marks that differ | outputs that differ |\n|---|---|---|---|---|---|---|---|---|\n"
)


@dataclass(frozen=True)
class GraderTimes:
    """A grader's medians, in seconds per submission."""

    count: int
    """The number of submissions."""
    command_wall: float
    """The wall-clock time of the whole command."""
    submission: Cost
    """The cost without the start of the command."""


@dataclass(frozen=True)
class LabMeasurement:
    """A lab's class, graded by all graders."""

    lab: str
    times: dict[str, GraderTimes]
    """By grader."""
    memory: int
    """The bytes of a student process."""
    marks: int
    """How many were compared."""
    differing_marks: list[str]
    outputs: int
    """How many cells' outputs were compared."""
    differing_outputs: list[str]


def run(students: int = 24, others: int = 6, turns: int = 3, otters: int = 2, labs: Sequence[str] = ()) -> str:
    """Return Markdown tables.

    Args:
        students: The submissions of the light lab.
        others: The submissions of each other lab.
        turns: The turns of the floor and of gradlab.
        otters: The submissions of the light lab that otter-grader grades. It grades half as many of each other lab.
        labs: The labs' names; if empty, all of them.
    """
    measurements = []
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        otter = otter_grader.install_otter(base / "otter")
        for lab in create_course(base / "course", labs):
            if lab.name == LIGHT_LAB:
                measurements.append(_measure_lab(base, lab, students, turns, otter, otters))
            else:
                other_turns = min(turns, OTHER_LABS_TURNS)
                measurements.append(_measure_lab(base, lab, others, other_turns, otter, (otters + 1) // 2))
    differences = [
        f"- {one.lab}: {difference}\n"
        for one in measurements
        for difference in (*one.differing_marks, *one.differing_outputs)
    ]
    return (
        "# One class, four graders\n\n"
        f"Seconds per submission, medians of {turns} turns of the floor and of gradlab ({min(turns, OTHER_LABS_TURNS)} "
        "for the course's own labs); the others ran between or right after these. CPU is that of all processes "
        f"together, without the start of the command: for gradlab, the extra time of a class {LARGER} times as large "
        "with the same notebooks; for nbgrader, the extra time compared with a class of one. The floor runs the same "
        f"cells and checks in a fork of one warm process. gradlab grades {JOBS} at a time, with isolation "
        f"{find_strongest_level(find_layers())}. nbgrader {version('nbgrader')} and otter-grader "
        f"{otter_grader.VERSION} run as installed; otter starts again for each submission. "
        f"Python {platform.python_version()}, torch {torch.__version__}, {os.cpu_count()} cores.\n\n"
        + TIMES_HEAD
        + "".join(map(_format_times, measurements))
        + "\n"
        + RATIOS_HEAD
        + "".join(map(_format_ratios, measurements))
        + f"\nDifferences: {len(differences)}.\n\n{''.join(differences)}"
    )


def _measure_lab(base: Path, lab: Lab, count: int, turns: int, otter: Path, otters: int) -> LabMeasurement:
    name = lab.name
    floor_turns: list[dict[str, FloorRun]] = []
    costs: list[Cost] = []
    large_costs: list[Cost] = []
    run_gradlab(_create_class(base, lab, JOBS), name)  # warms up
    for turn in range(turns):
        course = _create_class(base, lab, count)
        floor_turns.append(run_floor(course, name))
        costs.append(run_gradlab(course, name))
        large_costs.append(run_gradlab(_create_class(base, lab, LARGER * count, count), name))
        if turn == 0:
            stock_course, stock_course_of_one = _create_class(base, lab, count), _create_class(base, lab, 1)
            stock_cost_of_one, stock_cost = run_nbgrader(stock_course_of_one, name), run_nbgrader(stock_course, name)
    otter_costs, otter_marks = _grade_with_otter(base, lab, course, otter, otters)
    each = [
        compute_submission_cost(large, LARGER * count, small, count)
        for large, small in zip(large_costs, costs, strict=True)
    ]
    stock_each = compute_submission_cost(stock_cost, count, stock_cost_of_one, 1)
    otter_cost = compute_median_cost(otter_costs)
    times = {
        "floor": _summarize_floor(floor_turns),
        "gradlab": GraderTimes(count, compute_median_cost(costs).wall / count, compute_median_cost(each)),
        "nbgrader": GraderTimes(count, stock_cost.wall / count, stock_each),
        "otter": GraderTimes(len(otter_costs), otter_cost.wall, otter_cost),
    }
    marks = read_marks(course, name)
    floor_marks = {student: run.points for student, run in floor_turns[-1].items()}
    others: dict[str, Marks] = {"floor": floor_marks, "nbgrader": read_marks(stock_course, name), "otter": otter_marks}
    differing_marks = [
        f"marks of gradlab and {grader}: {difference}"
        for grader, other_marks in others.items()
        for difference in find_differing_marks(marks, other_marks)
    ]
    compared = sum(len(points) for other_marks in others.values() for points in other_marks.values())
    cells, outputs = compare_outputs(course, stock_course, name)
    memory = measure_student_memory(course, name, "student_0000")
    differing_outputs = [f"output of {cell}" for cell in outputs]
    return LabMeasurement(name, times, memory, compared, differing_marks, cells, differing_outputs)


def _format_times(one: LabMeasurement) -> str:
    floor_cpu = one.times["floor"].submission.cpu
    return "".join(
        f"| {one.lab} | {grader} | {times.count} | {times.command_wall:.3f} | {times.submission.wall:.3f} "
        f"| {times.submission.cpu:.3f} | {times.submission.cpu / floor_cpu:.1f} |\n"
        for grader, times in one.times.items()
    )


def _format_ratios(one: LabMeasurement) -> str:
    floor, gradlab, nbgrader, otter = (one.times[grader] for grader in ("floor", "gradlab", "nbgrader", "otter"))
    return (
        f"| {one.lab} | {nbgrader.command_wall / gradlab.command_wall:.1f} "
        f"| {nbgrader.submission.wall / gradlab.submission.wall:.1f} "
        f"| {nbgrader.submission.cpu / gradlab.submission.cpu:.1f} | {otter.command_wall / gradlab.command_wall:.1f} "
        f"| {1e3 * (gradlab.submission.cpu - floor.submission.cpu):.0f} | {one.memory / 1e6:.0f} "
        f"| {len(one.differing_marks)} of {one.marks} | {len(one.differing_outputs)} of {one.outputs} |\n"
    )


def _create_class(base: Path, lab: Lab, count: int, distinct: int = 0) -> Path:
    """Create a course with a class that no one has graded; see iter_submissions."""
    course = copy_course(base / "course", lab.name, Path(tempfile.mkdtemp(dir=base)) / "course")
    submit_class(course, lab, count, distinct)
    return course


def _grade_with_otter(base: Path, lab: Lab, course: Path, otter: Path, count: int) -> tuple[list[Cost], Marks]:
    """Grade the first and the last students of the class, together as many as count."""
    folder = Path(tempfile.mkdtemp(dir=base))
    autograder = otter_grader.build_assignment(otter, lab, folder)
    costs, marks = [], {}
    students = sorted(path.name for path in (course / "submitted").iterdir())
    for student in [*students[: (count + 1) // 2], *students[len(students) - count // 2 :]]:
        notebook = course / "submitted" / student / lab.name / f"{lab.name}.ipynb"
        cost, marks[student] = otter_grader.grade_notebook(otter, autograder, notebook, folder / student)
        costs.append(cost)
    return costs, marks


def _summarize_floor(turns: Sequence[dict[str, FloorRun]]) -> GraderTimes:
    """Return the medians of the turns' means. Means, as for the other graders, count answers that take long."""
    wall = median(mean(run.wall for run in turn.values()) for turn in turns)
    cpu = median(mean(run.cpu for run in turn.values()) for turn in turns)
    return GraderTimes(len(turns[0]), wall, Cost(wall, cpu))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=24, help="submissions of the light lab")
    parser.add_argument("--others", type=int, default=6, help="submissions of each other lab")
    parser.add_argument("--turns", type=int, default=3, help="turns of the floor and of gradlab")
    parser.add_argument("--otters", type=int, default=2, help="submissions of the light lab for otter-grader")
    parser.add_argument("--labs", nargs="*", default=(), help="names of labs; all by default")
    print(run(**vars(parser.parse_args())))
