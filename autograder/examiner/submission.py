"""Examines one submission: the student process runs its cells, then the checks run here, beside stand-ins."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from autograder.examiner.cells import new_namespace
from autograder.examiner.clock import Clock, Patience
from autograder.examiner.course_names import names_to_keep
from autograder.examiner.effects import Effects
from autograder.examiner.link import ENDED, MAX_BYTES, STARVED, Link, Serves, Stopped
from autograder.examiner.needed import needed
from autograder.examiner.outputs import MAX_OF_SUBMISSION, within
from autograder.examiner.section import run_checks, run_given, uses
from autograder.examiner.student import Start, Student
from autograder.wire.ambient import Ambient
from labkit.outcome import Outcome

TIMEOUTS = 2  # of one exercise; its other checks are then short
SHORT_SECONDS = 2.0


@dataclass(frozen=True)
class Step:
    """A code cell of the notebook to grade. kind: "student" (an exercise or an added cell), "given" or "check".

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


def examine(steps: Sequence[Step], start: Start, patience: Patience | None = None) -> dict[str, Seen]:
    """Step id -> what came of it. The exercises' names stand for the student's objects.

    start: gives a new student process. Only the course's own source is executed here: `given` and `check` steps must be
    the course's. The state of this process (grad mode, default dtype, random states) is afterwards as it was.
    """
    before = Ambient().read()
    clock = Clock(patience or Patience())
    student = Student(start, clock)
    try:
        seen = _run_cells(steps, student)
        clock.begin_checks()
        _run_checks(steps, student, clock, seen)
        return seen
    finally:
        Ambient().apply(before)
        student.kill()


def _run_cells(steps: Sequence[Step], student: Student) -> dict[str, Seen]:
    """Every cell in the student process, which keeps its state wherever the examiner will need it."""
    seen = {step.id: Seen() for step in steps}
    left, last = MAX_OF_SUBMISSION, Seen()
    exercises = [step.exercise for step in steps if step.exercise]
    effects, beside, keep = Effects(exercises), _beside_the_checks(steps), _names_to_keep(steps)
    kept: set[str] = set()
    for step, defined in _with_names(steps):
        if step.kind != "check":
            names = keep.get(step.id, ())
            alone = effects.leaves_alone(step.source, step.kind == "given")
            if not alone or kept.intersection(names):
                _blame(last, student.keep)
            kept.update(names)
            last = seen[step.id]
            try:
                last.outputs, left = within(student.run(step.source, step.number, names), left)
            except Stopped as stopped:
                last.stopped = str(stopped)
                last.outputs = [_error(str(stopped))]
        if step.kind == "check" or (step.kind == "given" and step.id in beside and uses(step.source, defined)):
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
    """The course's check cells in this process, and those of its given cells on which they depend."""
    for seed in (torch.manual_seed, random.seed, np.random.seed):
        seed(0)
    namespace, beside = new_namespace(), _beside_the_checks(steps)
    for step, defined in _with_names(steps):
        if step.kind == "given" and step.id in beside:
            with _lines(student, step.id, clock) as line, contextlib.suppress(Exception):
                run_given(step.source, f"<{step.id}>", namespace, defined, line)  # which may show the student's result
        elif step.kind == "check":
            for _ in range(2):  # a second time where the machine was too busy
                with _lines(student, step.id, clock) as line:
                    seen[step.id].outcomes = run_checks(step.source, f"<{step.id}>", namespace, defined, line)
                if all(outcome.seen != STARVED for outcome in seen[step.id].outcomes):
                    break


def _beside_the_checks(steps: Sequence[Step]) -> frozenset[str]:
    """The ids of given cells that run here too."""
    ours = [step for step in steps if step.kind in ("given", "check")]
    return frozenset(ours[place].id for place in needed(tuple((s.kind == "check", s.source) for s in ours)))


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
def _lines(student: Student, name: str, clock: Clock) -> Iterator[_Lines]:
    lines = _Lines(student, name, clock)
    try:
        yield lines
    finally:
        lines.end()


class _Lines:
    """A line to the student's objects for each check: to the fork of this name, and to a new one after one broke."""

    def __init__(self, student: Student, name: str, clock: Clock) -> None:
        self.student, self.name, self.clock = student, name, clock
        self.link: Link | None = None
        self.begun = False
        self.timeouts = 0
        self.why_not = ""

    def renew(self) -> None:
        """Called as each check begins."""
        self.begun = True
        try:
            if self.link is None or self.link.broken:
                self.link = self.student.connect(self.name)
            seconds = self.clock.check()
            if self.timeouts >= TIMEOUTS:
                seconds = min(seconds, SHORT_SECONDS)
            self.link.effort, self.link.most = self.student.effort(seconds), MAX_BYTES
        except Stopped as stopped:
            self.link, self.why_not = None, str(stopped)

    def ask(self, request: Any, callbacks: Serves) -> Any:
        if self.link is None:
            raise Stopped(self.why_not)
        try:
            return self.link.ask(request, callbacks)
        except Stopped:
            self.timeouts += self.link.effort is not None and self.link.effort.is_over()
            if self.link.broken == ENDED:
                self.link.broken = f"{self.student.why() or 'the Python process ended'} during this check"
            raise Stopped(self.link.broken) from None

    def end(self) -> None:
        """Leave nothing running of what the checks started."""
        if self.begun:
            self.student.tidy(self.name)


def _error(reason: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": "Stopped", "evalue": reason, "traceback": [reason]}
