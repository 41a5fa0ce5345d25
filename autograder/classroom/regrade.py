"""Grades submissions again that have their marks, and shows what would change before anything is written."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

from autograder.base.errors import GradlabError
from autograder.classroom.class_writer import GradebookWriter
from autograder.classroom.decisions import read_checks
from autograder.classroom.outcomes import run_guarded
from autograder.classroom.whole_lab import open_class
from autograder.gradebook.names import make_labels
from autograder.gradebook.nbgrader_course import NbgraderCourse
from autograder.gradebook.writer import read_recorded
from autograder.model.assignments import suggest_nearest
from autograder.model.result import Result
from autograder.submission.lab_submission import GradedSubmission
from autograder.workers.executors import Executor
from autograder.workers.worker import Failure


@dataclass(frozen=True)
class Change:
    """What would change in one student's automatic marks."""

    student: str
    cells: tuple[tuple[str, float | None, float | None], ...]
    """Exercise, points before, and points after; before is None if the gradebook has no mark yet."""

    @property
    def by(self) -> float:
        return sum((after or 0.0) - (before or 0.0) for _, before, after in self.cells)


@dataclass(frozen=True)
class RegradeResult:
    """What regrading a lab came to."""

    changes: tuple[Change, ...]
    failures: tuple[tuple[str, str], ...]
    """Students whose marks stay, and why."""
    graded: int
    """How many were graded, changed or not."""
    written: bool = False
    """Whether the changes were written."""


def regrade(
    api: NbgraderCourse,
    lab: str,
    where: Executor,
    agreed: Callable[[RegradeResult], bool],
    student: str = "",
    exercise: str = "",
    again: bool = False,
    stop: Event | None = None,
) -> RegradeResult:
    """Grade what isn't up to date, call `agreed` with what would change, and write it if the answer is yes.

    Marks by hand stay.

    Args:
        where: Where submissions are graded.
        agreed: Whether to write these changes.
        student: Change only this student's marks.
        exercise: Change only the marks of this exercise.
        again: Also grade submissions whose result is up to date.
        stop: Set to end without writing.

    Raises:
        GradlabError: If the lab has no such exercise.
    """
    stop = stop or Event()
    if exercise and exercise not in (known := read_checks(api.root, lab)):
        raise GradlabError(f"{lab} has no exercise {exercise!r}: check the name{suggest_nearest(exercise, known)}")
    with open_class(api, lab, where, student) as (writer, students):
        writer.cause = "regrade"
        before = {name: row.scores for name, row in read_recorded(writer.gradebook, lab).items()}
        held, changes, failures = [], [], []
        for task, outcome in writer.outcomes(students, where, again, stop):
            if isinstance(outcome, Failure):
                failures.append((task.student, outcome.reason.strip().splitlines()[-1]))
                continue
            graded = _limit_to_exercise(writer, outcome, exercise) if exercise else outcome
            changes += _find_changes(writer, graded, before.get(task.student, {}))
            held.append(_pack_graded(graded))
        found = RegradeResult(tuple(sorted(changes, key=lambda c: c.student)), tuple(failures), len(held))
        if stop.is_set() or not held or not agreed(found):
            return found
        for packed in held:
            done = run_guarded(packed[0].result.student, functools.partial(writer.keep, _unpack_graded(packed)))
            failures += [(done.student, done.failure)] if done.failure else []
        return replace(found, failures=tuple(failures), written=True)


def _find_changes(writer: GradebookWriter, graded: GradedSubmission, before: dict[str, float | None]) -> list[Change]:
    after = writer.decide_marks(graded).scores
    changed = ((name, before.get(name), score) for name, score in after.items())
    labels = make_labels(graded.result)
    cells = tuple((labels.label_id(name), old, new) for name, old, new in changed if old != new)
    return [Change(graded.result.student, cells)] if cells else []


def _limit_to_exercise(writer: GradebookWriter, graded: GradedSubmission, exercise: str) -> GradedSubmission:
    """The graded submission with the earlier marks of all other exercises.

    Its key is empty, so a later grading updates those exercises, and its `made_of` is as before, so they count as
    marks of an earlier build.
    """
    before = writer.result(graded.result.student)
    if before is None:
        return graded
    result = graded.result.model_copy(
        update={"cells": _merge_cells(before, graded.result, exercise), "key": "", "made_of": before.made_of}
    )
    scores = dict(graded.marks.scores) | {cell.id: cell.points for cell in result.cells}
    return replace(graded, result=result, marks=replace(graded.marks, scores=scores))


def _merge_cells(before: Result, now: Result, exercise: str) -> tuple[Any, ...]:
    """The cells as they are now, but those of other exercises as they were."""
    old = {cell.id: cell for cell in before.cells}
    labels = make_labels(now)
    return tuple(
        cell if labels.has_name(exercise, *reversed(labels.split(cell.id))) else old.get(cell.id, cell)
        for cell in now.cells
    )


def _pack_graded(graded: GradedSubmission) -> tuple[GradedSubmission, dict[str, bytes]]:
    """Compress the notebooks: those of a thousand students, kept until the changes are agreed to, take half a GB."""
    notebooks = {name: zlib.compress(text.encode()) for name, text in graded.notebooks.items()}
    return replace(graded, notebooks={}), notebooks


def _unpack_graded(packed: tuple[GradedSubmission, dict[str, bytes]]) -> GradedSubmission:
    graded, notebooks = packed
    return replace(graded, notebooks={name: zlib.decompress(text).decode() for name, text in notebooks.items()})


def describe_changes(found: RegradeResult, most: int = 40) -> Sequence[str]:
    """What would change, a line for each student, up to this many lines."""
    lines = []
    for change in found.changes[:most]:
        cells = ", ".join(
            f"{name} {_format_points(before)} → {_format_points(after)}" for name, before, after in change.cells
        )
        lines.append(f"{change.student}: {change.by:+g} points ({cells})")
    if len(found.changes) > most:
        lines.append(f"and {len(found.changes) - most} more")
    up, down = (sum(sign * change.by > 0 for change in found.changes) for sign in (1, -1))
    lines.append(f"{found.graded} graded: {len(found.changes)} would change, {up} up and {down} down")
    return lines


def _format_points(score: float | None) -> str:
    return "none" if score is None else f"{score:g}"
