"""Grades marked submissions again, and shows what would change before anything is written."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autograder.base.errors import GradlabError
from autograder.base.stop_request import StopRequest
from autograder.classroom.class_grader import ClassGrader
from autograder.classroom.decisions import read_checks
from autograder.classroom.grading_outcome import GradingOutcome, run_guarded
from autograder.classroom.open_class import open_class
from autograder.gradebook.labels import make_labels
from autograder.gradebook.nbgrader_course import NbgraderCourse
from autograder.gradebook.submission_rows import read_submission_rows
from autograder.grading.lab_submission import GradedSubmission
from autograder.model.assignments import suggest_nearest
from autograder.model.result import ResultDocument
from autograder.workers.executors import Executor
from autograder.workers.task_grading import GradingFailure


@dataclass(frozen=True)
class MarkChange:
    """The change of one student's automatic marks."""

    student: str
    cells: tuple[tuple[str, float | None, float | None], ...]
    """Exercise, points before, and points after; before is None if the gradebook has no mark yet."""

    @property
    def difference(self) -> float:
        return sum((after or 0.0) - (before or 0.0) for _, before, after in self.cells)


@dataclass(frozen=True)
class RegradeResult:
    """The outcome of regrading a lab."""

    changes: tuple[MarkChange, ...]
    failures: tuple[tuple[str, str], ...]
    """Students whose marks stay, with the reason."""
    graded: int
    """How many were graded, changed or not."""
    written: bool = False
    """Whether the changes were written."""


@dataclass(frozen=True)
class RegradeScope:
    """Which marks regrading may change."""

    student: str = ""
    """Only this student's."""
    exercise: str = ""
    """Only those of this exercise."""
    include_current: bool = False
    """Also those whose result is up to date."""


EVERYTHING = RegradeScope()


def regrade(
    nbgrader: NbgraderCourse,
    lab: str,
    executor: Executor,
    confirm: Callable[[RegradeResult], bool],
    scope: RegradeScope = EVERYTHING,
    stop: StopRequest | None = None,
) -> RegradeResult:
    """Grade what isn't up to date, call `confirm` with what would change, and write it if that returns True.

    Marks by hand stay.

    Args:
        executor: Grades the submissions.
        confirm: Returns whether to write these changes.
        scope: Which marks may change.
        stop: Set to end without writing.

    Raises:
        GradlabError: If the lab has no such exercise.
    """
    stop, exercise = stop or StopRequest(), scope.exercise
    if exercise and exercise not in (exercises := read_checks(nbgrader.root, lab)):
        raise GradlabError(
            f"{lab} has no exercise {exercise!r}", fix=f"check the name{suggest_nearest(exercise, exercises)}"
        )
    with open_class(nbgrader, lab, executor, scope.student, "regrade") as opened:
        grader = opened.grader
        before = {name: row.auto_scores for name, row in read_submission_rows(grader.gradebook, lab).items()}
        submissions, changes, failures = [], [], []
        for each in grader.iter_outcomes(opened.students, executor, scope.include_current, stop):
            if isinstance(each, GradingOutcome):
                continue  # its mark stays
            task, outcome = each
            if isinstance(outcome, GradingFailure):
                failures.append((task.student, outcome.reason.strip().splitlines()[-1]))
                continue
            graded = _limit_to_exercise(grader, outcome, exercise) if exercise else outcome
            changes += _find_changes(grader, graded, before.get(task.student, {}))
            submissions.append(_pack_graded(graded))
        result = RegradeResult(tuple(sorted(changes, key=lambda c: c.student)), tuple(failures), len(submissions))
        if stop.is_set() or not submissions or not confirm(result):
            return result
        for packed in submissions:
            write = functools.partial(grader.write_submission, _unpack_graded(packed))
            written = run_guarded(packed[0].result.student, write)
            failures += [(written.student, written.failure)] if written.failure else []
        return replace(result, failures=tuple(failures), written=True)


def _find_changes(grader: ClassGrader, graded: GradedSubmission, before: dict[str, float | None]) -> list[MarkChange]:
    after = grader.decide_marks(graded).scores
    changed = ((name, before.get(name), score) for name, score in after.items())
    labels = make_labels(graded.result)
    cells = tuple((labels.label_id(name), old, new) for name, old, new in changed if old != new)
    return [MarkChange(graded.result.student, cells)] if cells else []


def _limit_to_exercise(grader: ClassGrader, graded: GradedSubmission, exercise: str) -> GradedSubmission:
    """Return the graded submission with the earlier marks of all other exercises.

    Its key is empty, so a later grading updates those exercises, and its `made_of` is as before, so they count as
    marks of an earlier build.
    """
    before = grader.load_complete_result(graded.result.student)
    if before is None:
        return graded
    result = graded.result.model_copy(
        update={"cells": _merge_cells(before, graded.result, exercise), "key": "", "made_of": before.made_of}
    )
    scores = dict(graded.marks.scores) | {cell.id: cell.points for cell in result.cells}
    return replace(graded, result=result, marks=replace(graded.marks, scores=scores))


def _merge_cells(before: ResultDocument, now: ResultDocument, exercise: str) -> tuple[Any, ...]:
    """Return the new cells of this exercise, and the earlier cells of all others."""
    old = {cell.id: cell for cell in before.cells}
    labels = make_labels(now)
    return tuple(
        cell if labels.has_name(exercise, *labels.split(cell.id)) else old.get(cell.id, cell) for cell in now.cells
    )


def _pack_graded(graded: GradedSubmission) -> tuple[GradedSubmission, dict[str, bytes]]:
    """Compress the notebooks: those of a thousand students, kept until the changes are confirmed, take half a GB."""
    notebooks = {name: zlib.compress(text.encode()) for name, text in graded.notebooks.items()}
    return replace(graded, notebooks={}), notebooks


def _unpack_graded(packed: tuple[GradedSubmission, dict[str, bytes]]) -> GradedSubmission:
    graded, notebooks = packed
    return replace(graded, notebooks={name: zlib.decompress(text).decode() for name, text in notebooks.items()})


def describe_changes(result: RegradeResult, max_lines: int = 40) -> Sequence[str]:
    """Describe what would change, with a line for each student."""
    lines = []
    for change in result.changes[:max_lines]:
        cells = ", ".join(
            f"{name} {_format_points(before)} → {_format_points(after)}" for name, before, after in change.cells
        )
        lines.append(f"{change.student}: {change.difference:+g} points ({cells})")
    if len(result.changes) > max_lines:
        lines.append(f"and {len(result.changes) - max_lines} more")
    up, down = (sum(sign * change.difference > 0 for change in result.changes) for sign in (1, -1))
    lines.append(f"{result.graded} graded: {len(result.changes)} would change, {up} up and {down} down")
    return lines


def _format_points(score: float | None) -> str:
    return "none" if score is None else f"{score:g}"
