"""Examines one submission: the student process runs its cells, and the checks run here, beside stand-ins."""

from __future__ import annotations

import contextlib
import io
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from autograder.examiner.cells import new_namespace, run_cell, run_check_cell
from autograder.examiner.link import Stopped
from autograder.examiner.process import Restarting
from autograder.examiner.remote import World
from autograder.wire.ambient import Ambient
from labkit.outcome import Outcome

CELL_SECONDS = 60.0
CHECK_SECONDS = 20.0


@dataclass(frozen=True)
class Step:
    """A code cell of the notebook to grade. kind: "student" (an exercise or an added cell), "given" or "check"."""

    id: str
    kind: str
    source: str


@dataclass
class Seen:
    """What came of a step: the outputs of the student process, or the outcomes of the checks."""

    outputs: list[dict[str, Any]] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)


def examine(steps: Sequence[Step], exercises: Sequence[str], student: Restarting) -> dict[str, Seen]:
    """Step id -> what came of it. `exercises` are the names that stand for the student's objects.

    Only the course's own source is executed here: `given` and `check` steps must be the course's. The state of this
    process (grad mode, default dtype, random states) is afterwards as it was.
    """
    before = Ambient().read()
    try:
        return _examine(steps, exercises, student)
    finally:
        Ambient().apply(before)


def _examine(steps: Sequence[Step], exercises: Sequence[str], student: Restarting) -> dict[str, Seen]:
    for seed in (torch.manual_seed, random.seed, np.random.seed):
        seed(0)
    namespace = new_namespace()
    results: dict[str, Seen] = {}
    defined: list[str] = []
    for step in steps:
        seen = results[step.id] = Seen()
        if step.kind != "check":
            try:
                seen.outputs = student.run(step.source, CELL_SECONDS)
            except Stopped as stopped:
                seen.outputs = [_error(str(stopped))]
        name = step.id.removeprefix("exercise-")
        if name in exercises and name != step.id:
            defined.append(name)
        elif step.kind == "given":
            _run_given(step, namespace, defined, student)
        elif step.kind == "check":
            seen.outcomes = _run_checks(step, namespace, defined, student)
    return results


def _run_given(step: Step, namespace: dict[str, Any], defined: list[str], student: Restarting) -> None:
    """A given cell of the course, for its names. One that shows the student's own result may fail here too."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(Exception))
        if any(name in step.source for name in defined):
            world = World(student.connect(CHECK_SECONDS), namespace)
            stack.callback(world.link.channel.close)
            namespace.update({name: world.stand_in(name) for name in defined})
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        run_cell(step.source, namespace, f"<{step.id}>")


def _run_checks(step: Step, namespace: dict[str, Any], defined: list[str], student: Restarting) -> list[Outcome]:
    world = World(_Lines(student), namespace)
    namespace.update({name: world.stand_in(name) for name in defined})
    try:
        return run_check_cell(step.source, namespace, f"<{step.id}>", before_check=world.link.renew)
    finally:
        world.link.close()


class _Lines:
    """A line to the student process for each check: a fresh fork for the first, and after one that broke."""

    def __init__(self, student: Restarting) -> None:
        self.student = student
        self.link: Any = None

    def renew(self) -> None:
        if self.link is None or self.link.broken:
            self.close()
            with contextlib.suppress(Stopped):
                self.link = self.student.connect(CHECK_SECONDS)
        if self.link is not None:
            self.link.until = time.monotonic() + CHECK_SECONDS

    def ask(self, request: Any) -> Any:
        if self.link is None:
            raise Stopped(self.student.process.ended or "the Python process does not answer")
        return self.link.ask(request)

    def close(self) -> None:
        if self.link is not None:
            self.link.channel.close()
            self.link = None


def _error(reason: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": "Stopped", "evalue": reason, "traceback": [reason]}
