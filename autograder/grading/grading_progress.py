"""How far the grading of a submission is, for the student who waits for the mark."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autograder.examiner.examination import Step, StepListener
from autograder.grading.lab_cells import LabCell


@dataclass(frozen=True)
class GradingProgress:
    """The step of a submission that runs now."""

    number: int
    """Counted from 1."""
    steps: int
    """How many there are in all."""
    exercise: str = ""
    """The exercise whose checks run; empty if a cell of the submission runs."""
    cell: str = ""
    """The first line of that cell; empty if checks run, whose code a student doesn't see."""
    seconds: float = 0.0
    """How much processor time that cell may take."""


ProgressListener = Callable[[GradingProgress], None]


def report_steps(cells: Sequence[LabCell], on_progress: ProgressListener, seconds: float) -> StepListener:
    """Return a listener that numbers the steps of these cells, and names each as the student knows it.

    Args:
        seconds: The time limit of a cell.
    """
    numbers = itertools.count(1)
    exercises = {cell.name: cell.metadata.exercise for cell in cells if cell.is_graded}

    def report_step(step: Step) -> None:
        exercise = exercises.get(step.id, "")
        lines = [] if exercise else [line.strip() for line in step.source.splitlines() if line.strip()]
        limit = 0.0 if exercise else seconds
        on_progress(GradingProgress(next(numbers), len(cells), exercise, "".join(lines[:1]), limit))

    return report_step
