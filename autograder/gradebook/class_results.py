"""A lab and everyone in the course, as the report and the term page read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from autograder.gradebook.history import HistoryEntry
from autograder.model.marks import Mark
from autograder.model.note_sentences import describe_notes
from autograder.model.notes import Note

if TYPE_CHECKING:
    from labkit.outcome import Outcome


@dataclass(frozen=True)
class Column:
    """A graded cell of the lab."""

    name: str
    worth: float
    by_hand: bool = False
    """Whether a person marks it."""
    is_extra_credit: bool = False
    """Whether its points are extra credit."""


@dataclass(frozen=True)
class Member:
    """A student of the class, with what is known about the submission of one lab."""

    student: str
    name: str = ""
    has_submitted: bool = False
    """Whether there is a submission, or there was one when it was graded."""
    graded: bool = False
    needs_regrading: bool = False
    """Whether a later submission than the graded one waits, or an excuse isn't in the gradebook yet."""
    from_earlier_build: bool = False
    """Whether the mark is from an earlier build of the lab."""
    uncollected: bool = False
    """Whether the exchange has an even later submission."""
    marks: Mapping[str, Mark] = field(default_factory=dict)
    """By the graded cell's label."""
    penalty: float = 0.0
    """Points that lateness costs."""
    submitted: datetime | None = None
    extension_end: datetime | None = None
    """When an extension ends, in naive UTC."""
    seconds_late: float = 0.0
    """Seconds after the due date, or after the extension."""
    unreadable: bool = False
    """Whether nothing that was submitted could be read, so it counts as empty."""
    notes: tuple[Note, ...] = ()
    remarks: tuple[Note, ...] = ()
    """For the instructor only."""
    notebooks: int = 1
    """How many notebooks the submission has."""
    stopped_cells: Mapping[str, str] = field(default_factory=dict)
    """Cells that ran into a limit or ended their process, or one of whose checks did: id to label."""
    on_roster: bool = True
    """False only if there is a roster and it doesn't name the student."""
    team: str = ""
    changed_names: tuple[str, ...] = ()
    checks: Mapping[str, tuple[Outcome, ...]] = field(default_factory=dict)
    """By exercise, with excused checks as passed."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """What the student wrote, by exercise or question, without answers left as they were handed out."""
    page: str = ""
    """The feedback page, or the graded notebook if there is no page yet, relative to results/."""
    attempts: tuple[datetime, ...] = ()
    """Every attempt in the exchange."""
    history: tuple[HistoryEntry, ...] = ()
    own_process_cells: tuple[str, ...] = ()
    """Labels of the cells that the submission's own process decided."""

    @property
    def points(self) -> float:
        """What counts now, less the penalty for lateness."""
        return round(max(sum(mark.points or 0 for mark in self.marks.values()) - self.penalty, 0), 4)

    @property
    def messages(self) -> list[str]:
        """The notes and remarks as sentences."""
        return describe_notes((*self.notes, *self.remarks), self.notebooks)

    @property
    def needs_manual_grade(self) -> bool:
        return any(mark.needs_manual_grade for mark in self.marks.values())


@dataclass(frozen=True)
class ClassResults:
    """A lab and everyone in the course."""

    lab: str
    columns: tuple[Column, ...]
    """In the lab's order."""
    members: tuple[Member, ...]
    due: datetime | None = None
    stubs: Mapping[str, str] = field(default_factory=dict)
    """Each exercise as it's handed out."""
    solutions: Mapping[str, str] = field(default_factory=dict)
    """Each exercise as the course solves it."""
    title: str = ""
    """Empty if it's unknown."""

    @property
    def heading(self) -> str:
        """What pages call the lab."""
        return self.title or self.lab

    @property
    def worth(self) -> float:
        return sum(column.worth for column in self.columns if not column.is_extra_credit)

    @property
    def own_process_cells(self) -> tuple[str, ...]:
        """The graded cells that were decided in the own process of at least one submission."""
        return tuple(sorted({name for member in self.members for name in member.own_process_cells}))

    @property
    def extensions(self) -> tuple[tuple[Member, datetime], ...]:
        """Members with an extension, and when it ends, latest first."""
        extensions = [(member, member.extension_end) for member in self.members if member.extension_end]
        return tuple(sorted(extensions, key=lambda extension: extension[1], reverse=True))

    @property
    def graded_members(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.graded)

    @property
    def counting_members(self) -> tuple[Member, ...]:
        """Members who count in medians and means: graded, and on the roster if there is one."""
        return tuple(member for member in self.graded_members if member.on_roster)
