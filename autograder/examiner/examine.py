"""Examines one submission: the student process runs its cells, then the checks run here, beside proxies."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from autograder.examiner.check_connection import CheckConnection
from autograder.examiner.checked_outputs import MAX_OF_SUBMISSION, limit_outputs
from autograder.examiner.clock import Clock, Timeouts
from autograder.examiner.connection import Stopped
from autograder.examiner.effects import Effects
from autograder.examiner.execution import create_namespace
from autograder.examiner.protected_names import select_kept_names
from autograder.examiner.section import can_use_names, run_checks, run_given
from autograder.examiner.submission_code import Start, Student
from autograder.rpc.global_state import GlobalState
from autograder.rpc.random_states import seed_all
from labkit.cause import Cause
from labkit.outcome import Outcome


@dataclass(frozen=True)
class Step:
    """A code cell of the notebook to grade.

    kind: "student" (an exercise or an added cell), "given", "example" (the course's, that no check reads) or "check".

    number: its execution count. exercise: the name that a student defines there.
    """

    id: str
    kind: str
    source: str
    number: int = 1
    exercise: str = ""


@dataclass
class StepResult:
    """What came of a step: the outputs of the student process, or the outcomes of the checks.

    stopped: the limit that a cell ran into, or how it ended its process. changed: of the last step, names of the
    course's that the submission bound anew or patched.
    """

    outputs: list[dict[str, Any]] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    stopped: str = ""
    changed: list[str] = field(default_factory=list)


def examine(steps: Sequence[Step], start: Start, timeouts: Timeouts | None = None) -> dict[str, StepResult]:
    """Step id -> what came of it. The exercises' names stand for the student's objects.

    start: gives a new student process. Only the course's own source is executed here: `given` and `check` steps must be
    the course's. The state of this process (grad mode, default dtype, random states) is afterwards as it was.
    """
    before = GlobalState().read()
    clock = Clock(timeouts or Timeouts())
    student = Student(start, clock)
    try:
        seen = _run_cells(steps, student)
        clock.begin_checks()
        _run_checks(steps, student, clock, seen)
        return seen
    finally:
        GlobalState().apply(before)
        torch.set_default_device(None)  # a lab may have called labkit.use_device
        student.kill()


def _run_cells(steps: Sequence[Step], student: Student) -> dict[str, StepResult]:
    """Every cell in the student process, which keeps its state wherever the examiner will need it."""
    seen = {step.id: StepResult() for step in steps}
    left, last = MAX_OF_SUBMISSION, StepResult()
    exercises = [step.exercise for step in steps if step.exercise]
    effects, keep = Effects(exercises), _select_kept_names(steps)
    kept: set[str] = set()
    for step, defined in _iter_steps(steps):
        if step.kind != "check":
            names = keep.get(step.id, ())
            alone = effects.has_no_effect(step.source, step.kind != "student")
            if not alone or kept.intersection(names):
                _blame(last, student.keep)
            kept.update(names)
            last = seen[step.id]
            try:
                last.outputs, left = limit_outputs(student.run(step.source, step.number, names), left)
            except Stopped as stopped:
                last.stopped = str(stopped)
                last.outputs = [_build_error(str(stopped))]
        if step.kind == "check" or (step.kind == "given" and can_use_names(step.source, defined)):
            student.mark(step.id)
    last.changed = student.changed()
    _blame(last, student.share)
    return seen


def _blame(last: StepResult, keep: Callable[[], None]) -> None:
    """Where the process cannot be forked, the cell that ran last is taken for the cause."""
    try:
        keep()
    except Stopped as stopped:
        last.stopped = last.stopped or str(stopped)


def _run_checks(steps: Sequence[Step], student: Student, clock: Clock, seen: dict[str, StepResult]) -> None:
    """The course's check cells in this process, and its given cells."""
    seed_all()
    namespace = create_namespace()
    for step, defined in _iter_steps(steps):
        if step.kind == "given":
            with CheckConnection(student, step.id, clock.check) as connection, contextlib.suppress(Exception):
                run_given(step.source, f"<{step.id}>", namespace, defined, connection)  # may show the student's result
        elif step.kind == "check":
            outcomes = _run_check_cell(step, student, clock, namespace, defined)
            if any(outcome.cause is Cause.BUSY for outcome in outcomes) and student.restart():
                outcomes = _run_check_cell(step, student, clock, namespace, defined)
            seen[step.id].outcomes = outcomes


def _run_check_cell(
    step: Step, student: Student, clock: Clock, namespace: dict[str, Any], defined: list[str]
) -> list[Outcome]:
    with CheckConnection(student, step.id, clock.check) as connection:
        return run_checks(step.source, f"<{step.id}>", namespace, defined, connection)


def _select_kept_names(steps: Sequence[Step]) -> dict[str, tuple[str, ...]]:
    """Given cell's id -> the names that it binds and that stay the course's when checks run."""
    ours = [step for step in steps if step.kind in ("given", "check")]
    names = select_kept_names(tuple((step.kind == "check", step.source) for step in ours))
    return {step.id: kept for step, kept in zip(ours, names, strict=True) if step.kind == "given"}


def _iter_steps(steps: Sequence[Step]) -> Iterator[tuple[Step, list[str]]]:
    """Each step, and which exercises have been defined when it runs."""
    defined: list[str] = []
    for step in steps:
        if step.exercise:
            defined.append(step.exercise)
        yield step, defined


def _build_error(reason: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": "Stopped", "evalue": reason, "traceback": [reason]}
