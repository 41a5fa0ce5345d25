"""What the checks of a whole class show: exercises, checks, misconceptions, and answers with the same mistakes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autograder.base.text import truncate
from autograder.gradebook.class_results import ClassResults, Column, Member
from autograder.reports.class_statistics import Correlation, compute_difficulty, compute_discrimination

if TYPE_CHECKING:
    from labkit.outcome import Outcome

MAX_SEEN = 200  # characters of what a check saw
MAX_CODE = 1500  # characters of an example


@dataclass(frozen=True)
class ExerciseFinding:
    """How a class did in one exercise."""

    column: Column
    wrote: int
    """How many students wrote it."""
    blank: int
    """How many left it blank."""
    share: float | None
    """The mean share of the points, among students who wrote it and have points."""
    discrimination: Correlation | None
    """Its correlation with the rest of the lab, among the same students."""
    waiting: int = 0
    """How many answers a person has yet to mark."""


@dataclass(frozen=True)
class CheckFinding:
    """How often a check failed."""

    exercise: str
    label: str
    hidden: bool
    failed: int
    """How many of them fail the check."""
    wrote: int
    """How many wrote the exercise."""


@dataclass(frozen=True)
class AlikeAnswers:
    """Answers to an exercise that fail the same checks in the same way."""

    exercise: str
    failures: tuple[str, ...]
    """A line for each of the failed checks."""
    members: tuple[Member, ...]

    @property
    def example(self) -> str:
        return truncate(self.members[0].answers.get(self.exercise, ""), MAX_CODE)


def has_answered(member: Member, exercise: str) -> bool:
    """Return whether the exercise differs from what was handed out, or has points anyway."""
    mark = member.marks.get(exercise)
    return exercise in member.answers or bool(mark and mark.points)


def summarize_exercises(class_results: ClassResults) -> list[ExerciseFinding]:
    exercises = []
    for column in class_results.columns:
        writers = [m for m in class_results.graded_members if has_answered(m, column.name)]
        marked = [m for m in writers if (mark := m.marks.get(column.name)) and mark.points is not None]
        exercises.append(
            _summarize_exercise(column, marked, len(writers), len(class_results.graded_members) - len(writers))
        )
    return exercises


def _summarize_exercise(column: Column, members: Sequence[Member], wrote: int, blank: int) -> ExerciseFinding:
    points = [_get_points(member, column.name) for member in members]
    totals = [sum(mark.points or 0 for mark in member.marks.values()) for member in members]
    share = compute_difficulty([p / column.worth for p in points]) if column.worth else None
    return ExerciseFinding(column, wrote, blank, share, compute_discrimination(points, totals), wrote - len(members))


def _get_points(member: Member, name: str) -> float:
    mark = member.marks.get(name)
    return (mark.points or 0.0) if mark else 0.0


def list_failed_checks(class_results: ClassResults) -> list[CheckFinding]:
    """Return the checks that at least one student failed, the most common first."""
    failed: Counter[tuple[str, str, bool]] = Counter()
    writers = {
        column.name: sum(has_answered(m, column.name) for m in class_results.graded_members)
        for column in class_results.columns
    }
    for exercise, _, outcome in _list_failures(class_results):
        failed[exercise, outcome.label, outcome.hidden] += 1
    checks = [CheckFinding(*key, count, writers.get(key[0], 0)) for key, count in failed.items()]
    return sorted(checks, key=lambda c: (-c.failed, c.exercise, c.label))


def list_misconceptions(class_results: ClassResults) -> list[AlikeAnswers]:
    """Return the misconceptions that checks recognize, with the students who hold them, the most common first."""
    holders: dict[tuple[str, str], dict[str, Member]] = {}
    for exercise, member, outcome in _list_failures(class_results):
        if outcome.misconception:
            holders.setdefault((exercise, outcome.misconception), {})[member.student] = member
    return _sort_answers(
        [
            AlikeAnswers(exercise, (misconception,), tuple(members.values()))
            for (exercise, misconception), members in holders.items()
        ]
    )


def find_shared_mistakes(class_results: ClassResults) -> list[AlikeAnswers]:
    """Return the wrong answers that two or more students share, the most common first."""
    failures: dict[tuple[str, str], list[str]] = {}
    members = {member.student: member for member in class_results.graded_members}
    for exercise, member, outcome in _list_failures(class_results):
        failures.setdefault((exercise, member.student), []).append(_describe_failure(outcome))
    alike: dict[tuple[str, tuple[str, ...]], list[Member]] = {}
    for (exercise, student), lines in failures.items():
        alike.setdefault((exercise, tuple(lines)), []).append(members[student])
    return _sort_answers([AlikeAnswers(*key, tuple(sharers)) for key, sharers in alike.items() if len(sharers) > 1])


def _list_failures(class_results: ClassResults) -> list[tuple[str, Member, Outcome]]:
    """Return the exercise, member and outcome of each failed check of an exercise that was written."""
    return [
        (exercise, member, outcome)
        for member in class_results.graded_members
        for exercise, outcomes in member.checks.items()
        if has_answered(member, exercise)
        for outcome in outcomes
        if not outcome.passed
    ]


def _describe_failure(outcome: Outcome) -> str:
    message = truncate(outcome.misconception or outcome.seen, MAX_SEEN, "…")
    return f"{outcome.label}: {message}" if message else outcome.label


def _sort_answers(answers: list[AlikeAnswers]) -> list[AlikeAnswers]:
    return sorted(answers, key=lambda a: (-len(a.members), a.exercise, a.failures))
