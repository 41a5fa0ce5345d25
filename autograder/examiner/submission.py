"""Examines one submission: the student process runs its cells, and the checks run here, beside stand-ins."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from autograder.examiner.cells import new_namespace
from autograder.examiner.link import ENDED, Stopped
from autograder.examiner.process import Restarting
from autograder.examiner.section import run_checks, run_given
from autograder.wire.ambient import Ambient
from labkit.outcome import Outcome


@dataclass(frozen=True)
class Step:
    """A code cell of the notebook to grade. kind: "student" (an exercise or an added cell), "given" or "check"."""

    id: str
    kind: str
    source: str


@dataclass
class Seen:
    """What came of a step: the outputs of the student process, or the outcomes of the checks.

    stopped: the limit that a cell ran into, or how it ended its process.
    """

    outputs: list[dict[str, Any]] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    stopped: str = ""


@dataclass(frozen=True)
class Patience:
    """Seconds that a cell, a check and all of a submission may take."""

    cell: float = 60.0
    check: float = 20.0
    submission: float = 900.0


class Clock:
    """Seconds that are left. Raises Stopped where the submission has none."""

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self.end = time.monotonic() + patience.submission

    def cell(self) -> float:
        return min(self.patience.cell, self._left())

    def check(self) -> float:
        return min(self.patience.check, self._left())

    def _left(self) -> float:
        left = self.end - time.monotonic()
        if left <= 0:
            raise Stopped(f"the time limit of {self.patience.submission:g} s for a submission was reached")
        return left


def examine(
    steps: Sequence[Step], exercises: Sequence[str], student: Restarting, patience: Patience | None = None
) -> dict[str, Seen]:
    """Step id -> what came of it. `exercises` are the names that stand for the student's objects.

    Only the course's own source is executed here: `given` and `check` steps must be the course's. The state of this
    process (grad mode, default dtype, random states) is afterwards as it was.
    """
    before = Ambient().read()
    try:
        return _examine(steps, exercises, student, Clock(patience or Patience()))
    finally:
        Ambient().apply(before)


def _examine(steps: Sequence[Step], exercises: Sequence[str], student: Restarting, clock: Clock) -> dict[str, Seen]:
    for seed in (torch.manual_seed, random.seed, np.random.seed):
        seed(0)
    namespace = new_namespace()
    results: dict[str, Seen] = {}
    defined: list[str] = []
    for step in steps:
        seen = results[step.id] = Seen()
        if step.kind != "check":
            try:
                seen.outputs = student.run(step.source, clock.cell())
            except Stopped as stopped:
                seen.stopped = str(stopped)
                seen.outputs = [_error(seen.stopped)]
        name = step.id.removeprefix("exercise-")
        if name in exercises and name != step.id:
            defined.append(name)
        elif step.kind == "given":
            # For its names. One that shows the student's own result may fail here too.
            with contextlib.suppress(Exception), _lines(student, clock) as line:
                run_given(step.source, f"<{step.id}>", namespace, defined, line)
        elif step.kind == "check":
            with _lines(student, clock) as line:
                seen.outcomes = run_checks(step.source, f"<{step.id}>", namespace, defined, line)
    return results


@contextlib.contextmanager
def _lines(student: Restarting, clock: Clock) -> Iterator[_Lines]:
    lines = _Lines(student, clock)
    try:
        yield lines
    finally:
        lines.end()


class _Lines:
    """A line to the student process for each check: a fresh fork for the first, and after one that broke."""

    def __init__(self, student: Restarting, clock: Clock) -> None:
        self.student, self.clock = student, clock
        self.link: Any = None
        self.begun = False
        self.why_not = ""

    def renew(self) -> None:
        try:
            seconds = self.clock.check()
            if not self.begun:
                self.begun = True
                self.student.begin_checks()
            if self.link is None or self.link.broken:
                self.close()
                self.link = self.student.connect(seconds)
            self.link.until = time.monotonic() + seconds
        except Stopped as stopped:
            self.close()
            self.why_not = str(stopped)

    def ask(self, request: Any) -> Any:
        if self.link is None:
            raise Stopped(self.why_not)
        try:
            return self.link.ask(request)
        except Stopped:
            if self.link.broken == ENDED:
                self.link.broken = f"{self.student.why() or 'the Python process ended'} during this check"
            raise Stopped(self.link.broken) from None

    def end(self) -> None:
        """Hang up, and leave nothing running of what the checks started."""
        self.close()
        if self.begun:
            self.student.end_checks()

    def close(self) -> None:
        if self.link is not None:
            self.link.channel.close()
            self.link = None


def _error(reason: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": "Stopped", "evalue": reason, "traceback": [reason]}
