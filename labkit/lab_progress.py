"""A student's progress in one lab: the state of each exercise, quiz and written answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from labkit.points import format_points


class WorkKind(StrEnum):
    """What a student is asked for."""

    EXERCISE = "exercise"
    QUIZ = "quiz"
    QUESTION = "question"


class WorkState(StrEnum):
    """How far a student is with it."""

    UNTOUCHED = "untouched"
    WRITTEN = "written"  # no check has run on the present text
    FAILING = "failing"
    PASSING = "passing"
    MARKED = "marked"


@dataclass(frozen=True)
class HiddenFinding:
    """What a hidden check found when the notebook was marked, as the feedback page shows it."""

    label: str
    passed: bool
    seen: str = ""
    """A message about the student's own result, if the check failed."""
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class WorkItem:
    """One exercise, quiz or written answer."""

    name: str
    kind: WorkKind
    state: WorkState
    points: float
    """What it's worth; 0 for practice."""
    title: str = ""
    """What students call it, if that isn't its name."""
    questions: int = 0
    """How many a quiz asks; 0 if it's no quiz, or its letters can't be read."""
    answered: int = 0
    """How many of them have letters."""
    compared: int = 0
    """How many of them were compared with the key."""
    first_right: int = 0
    """How many of those were right when they were first compared."""
    earned: float | None = None
    """What the grader gave for the present text, else None."""
    earned_before: float | None = None
    """What the grader gave for an earlier text, if the present one isn't marked."""
    passed: int = 0
    """How many visible checks passed when they last ran on this text."""
    checks: int = 0
    """How many visible checks ran then."""
    stale: bool = False
    """Whether the card in the notebook is about an earlier text."""
    level: str = ""
    """How hard it is: easy, medium or hard; empty if the lab doesn't say."""
    hidden: tuple[HiddenFinding, ...] = ()
    """What its hidden checks found when the present text was marked."""
    another_way: str = ""
    """Another answer, once the present text has full marks."""
    tries: int = 0
    """How many different answers were marked below full marks."""
    faulty_uses: tuple[str, ...] = ()
    """Earlier exercises that this one uses and that aren't right yet, by name."""

    @property
    def is_practice(self) -> bool:
        """Whether it's a further exercise, which earns no points."""
        return self.points == 0

    @property
    def latest(self) -> float:
        """What the latest mark gave, even if the text has changed since; 0 without a mark."""
        return self.earned if self.earned is not None else self.earned_before or 0.0

    @property
    def shown_name(self) -> str:
        """Its title, else its name."""
        return self.title or self.name

    @property
    def is_full(self) -> bool:
        """Whether it got full marks."""
        return self.state is WorkState.MARKED and (self.earned or 0.0) >= self.points - 1e-6

    @property
    def is_final(self) -> bool:
        """Whether the student has seen the key of each question, or marked the answer: no better mark is asked for."""
        if self.kind is WorkKind.QUESTION:
            return self.state is WorkState.MARKED
        return self.kind is WorkKind.QUIZ and 0 < self.questions <= min(self.compared, self.answered)

    @property
    def is_done(self) -> bool:
        """Whether no visible work is left: it passes, it got full marks, or its key was seen."""
        if self.state is WorkState.MARKED or self.is_final:
            return self.is_full or self.is_final
        if self.kind is WorkKind.EXERCISE:
            return self.state is WorkState.PASSING
        return self.state in (WorkState.PASSING, WorkState.WRITTEN) and self.answered >= self.questions

    @property
    def is_ready(self) -> bool:
        """Whether only the grader's mark is missing. A written answer is marked by a person."""
        return self.is_done and self.state is not WorkState.MARKED and self.kind is not WorkKind.QUESTION

    def as_dict(self) -> dict[str, Any]:
        facts = {"title": self.shown_name, "done": self.is_done, "full": self.is_full, "practice": self.is_practice}
        return asdict(self) | facts


@dataclass(frozen=True)
class MissedPrediction:
    """A prediction to make again, because it was once wrong."""

    name: str
    question: str
    """How its question begins, as plain text."""


@dataclass(frozen=True)
class LabProgress:
    """One lab of the course."""

    name: str
    title: str
    path: str
    """The notebook's path, relative to the course's folder."""
    minutes: int
    needs: tuple[str, ...]
    """The labs to do before it."""
    milestone: str
    """What the course's running example has reached after it."""
    accuracy: float
    """The percentage that the running example then gets right; 0 if the milestone isn't about that."""
    work: tuple[WorkItem, ...]
    missed: tuple[MissedPrediction, ...] = ()
    begun: bool = False
    """Whether a cell ran or something was written."""

    @property
    def number(self) -> str:
        return shorten_lab_name(self.name)

    @property
    def points(self) -> float:
        return sum(work.points for work in self.work)

    @property
    def earned(self) -> float:
        """What the latest mark gave. A text that has changed since keeps its points until it's marked again."""
        return sum(work.latest for work in self.work)

    @property
    def changed_count(self) -> int:
        """How many answers have changed since they were marked."""
        return sum(work.earned_before is not None for work in self.work)

    @property
    def core(self) -> tuple[WorkItem, ...]:
        """The work that earns points."""
        return tuple(work for work in self.work if not work.is_practice)

    @property
    def ready_points(self) -> float:
        """What those ready to be marked can add to the points. Hidden checks may still take some."""
        return sum(work.points - work.latest for work in self.core if work.is_ready)

    @property
    def summary(self) -> str:
        """The points in words: what the grader gave, and what's ready for it."""
        total = f"{format_points(self.points)} point{'' if self.points == 1 else 's'}"
        is_marked = self.changed_count or any(work.state is WorkState.MARKED for work in self.core)
        if not self.ready_points and not is_marked:
            return total
        changed = f", {self.changed_count} changed since" if self.changed_count else ""
        ready = f", {format_points(self.ready_points)} more ready to mark" if self.ready_points else ""
        return f"{format_points(self.earned)} of {total}{changed}{ready}"

    @property
    def next_work(self) -> WorkItem | None:
        """The first one with points that isn't done; None if there is none."""
        return next((work for work in self.core if not work.is_done), None)

    def as_dict(self) -> dict[str, Any]:
        totals = {"number": self.number, "points": self.points, "earned": round(self.earned, 4)}
        following = self.next_work
        totals |= {"ready": self.ready_points, "summary": self.summary, "changed_count": self.changed_count}
        totals |= {"next": following.name if following else ""}
        totals |= {"next_title": following.shown_name if following else ""}
        return asdict(self) | {"work": [work.as_dict() for work in self.work]} | totals


def shorten_lab_name(name: str) -> str:
    """Return a lab's number as texts write it: 7 for 07_memory, 7b for 07b_profiler."""
    return name.partition("_")[0].lstrip("0")
