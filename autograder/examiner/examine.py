"""Examines one submission: the student process runs its cells, then the checks run here, beside proxies."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from autograder.examiner.cells import new_namespace
from autograder.examiner.clock import Clock, Timeouts
from autograder.examiner.connection import ENDED, MAX_BYTES, STARVED, Connection, Serves, Stopped
from autograder.examiner.course_names import names_to_keep
from autograder.examiner.effects import Effects
from autograder.examiner.outputs import MAX_OF_SUBMISSION, within
from autograder.examiner.section import run_checks, run_given, uses
from autograder.examiner.student import Start, Student
from autograder.rpc.global_state import GlobalState
from labkit.outcome import Outcome

TIMEOUTS = 2  # of one exercise; its other checks are then short
SHORT_SECONDS = 2.0


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
class Seen:
    """What came of a step: the outputs of the student process, or the outcomes of the checks.

    stopped: the limit that a cell ran into, or how it ended its process. changed: of the last step, names of the
    course's that the submission bound anew or patched.
    """

    outputs: list[dict[str, Any]] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    stopped: str = ""
    changed: list[str] = field(default_factory=list)


def examine(steps: Sequence[Step], start: Start, timeouts: Timeouts | None = None) -> dict[str, Seen]:
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
        student.kill()


def _run_cells(steps: Sequence[Step], student: Student) -> dict[str, Seen]:
    """Every cell in the student process, which keeps its state wherever the examiner will need it."""
    seen = {step.id: Seen() for step in steps}
    left, last = MAX_OF_SUBMISSION, Seen()
    exercises = [step.exercise for step in steps if step.exercise]
    effects, keep = Effects(exercises), _names_to_keep(steps)
    kept: set[str] = set()
    for step, defined in _with_names(steps):
        if step.kind != "check":
            names = keep.get(step.id, ())
            alone = effects.leaves_alone(step.source, step.kind != "student")
            if not alone or kept.intersection(names):
                _blame(last, student.keep)
            kept.update(names)
            last = seen[step.id]
            try:
                last.outputs, left = within(student.run(step.source, step.number, names), left)
            except Stopped as stopped:
                last.stopped = str(stopped)
                last.outputs = [_error(str(stopped))]
        if step.kind == "check" or (step.kind == "given" and uses(step.source, defined)):
            student.mark(step.id)
    last.changed = student.changed()
    _blame(last, student.share)
    return seen


def _blame(last: Seen, keep: Callable[[], None]) -> None:
    """Where the process cannot be forked, the cell that ran last is taken for the cause."""
    try:
        keep()
    except Stopped as stopped:
        last.stopped = last.stopped or str(stopped)


def _run_checks(steps: Sequence[Step], student: Student, clock: Clock, seen: dict[str, Seen]) -> None:
    """The course's check cells in this process, and its given cells."""
    for seed in (torch.manual_seed, random.seed, np.random.seed):
        seed(0)
    namespace = new_namespace()
    for step, defined in _with_names(steps):
        if step.kind == "given":
            with _check_connection(student, step.id, clock) as connection, contextlib.suppress(Exception):
                run_given(
                    step.source, f"<{step.id}>", namespace, defined, connection
                )  # which may show the student's result
        elif step.kind == "check":
            for _ in range(2):  # a second time where the machine was too busy
                with _check_connection(student, step.id, clock) as connection:
                    seen[step.id].outcomes = run_checks(step.source, f"<{step.id}>", namespace, defined, connection)
                if all(outcome.seen != STARVED for outcome in seen[step.id].outcomes):
                    break


def _names_to_keep(steps: Sequence[Step]) -> dict[str, tuple[str, ...]]:
    """Given cell's id -> the names that it binds and that stay the course's when checks run."""
    ours = [step for step in steps if step.kind in ("given", "check")]
    names = names_to_keep(tuple((step.kind == "check", step.source) for step in ours))
    return {step.id: kept for step, kept in zip(ours, names, strict=True) if step.kind == "given"}


def _with_names(steps: Sequence[Step]) -> Iterator[tuple[Step, list[str]]]:
    """Each step, and which exercises have been defined when it runs."""
    defined: list[str] = []
    for step in steps:
        if step.exercise:
            defined.append(step.exercise)
        yield step, defined


@contextlib.contextmanager
def _check_connection(student: Student, name: str, clock: Clock) -> Iterator[_CheckConnection]:
    connection = _CheckConnection(student, name, clock)
    try:
        yield connection
    finally:
        connection.end()


class _CheckConnection:
    """A connection to the student's objects for each check: to the fork of this name, and a new one after one broke."""

    def __init__(self, student: Student, name: str, clock: Clock) -> None:
        self.student, self.name, self.clock = student, name, clock
        self.connection: Connection | None = None
        self.begun = False
        self.timed_out = 0
        self.why_not = ""

    def renew(self) -> None:
        """Called as each check begins."""
        self.begun = True
        try:
            if self.connection is None or self.connection.broken:
                self.connection = self.student.connect(self.name)
            seconds = self.clock.check()
            if self.timed_out >= TIMEOUTS:
                seconds = min(seconds, SHORT_SECONDS)
            self.connection.effort, self.connection.most = self.student.effort(seconds), MAX_BYTES
        except Stopped as stopped:
            self.connection, self.why_not = None, str(stopped)

    def ask(self, request: Any, callbacks: Serves) -> Any:
        if self.connection is None:
            raise Stopped(self.why_not)
        try:
            return self.connection.ask(request, callbacks)
        except Stopped:
            self.timed_out += self.connection.effort is not None and self.connection.effort.is_over()
            if self.connection.broken == ENDED:
                self.connection.broken = f"{self.student.why() or 'the Python process ended'} during this check"
            raise Stopped(self.connection.broken) from None

    def end(self) -> None:
        """Leave nothing running of what the checks started."""
        if self.begun:
            self.student.kill_group(self.name)


def _error(reason: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": "Stopped", "evalue": reason, "traceback": [reason]}
