"""A lab and everybody in the course, as the report and the term's page read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from autograder.gradebook.past_marks import PastMark

if TYPE_CHECKING:
    from labkit.outcome import Outcome


@dataclass(frozen=True)
class Column:
    """A graded cell of the lab. by_hand: a question in words. extra: its points come on top."""

    name: str
    worth: float
    by_hand: bool = False
    extra: bool = False


@dataclass(frozen=True)
class Mark:
    """points: what counts now; None where nothing does yet. waits: for a person, who has yet to read it, or again."""

    points: float | None
    waits: bool = False


@dataclass(frozen=True)
class Member:
    """A student of the class, with what is known of the submission of one lab.

    handed_in: a file lies there, or lay there when it was graded. again: a later one than the graded one lies there,
    or an excuse that was given or taken back is not in the gradebook yet. older: its mark is of an earlier build of the
    lab. uncollected: the exchange has a still later one. marks: by name of the
    graded cell. until: of who has an extension, UTC without a zone. late: seconds after that, or after the lab's due
    date. checks: by exercise, with excused ones as passed. written: exercise or question -> what the student wrote
    there, without those left as they were handed out. page: the feedback page, or the graded notebook where there is
    none yet, seen from results/. attempts: each that the exchange has. history: all marks so far. stopped: cells that
    ran into a limit or ended their process, or one of whose checks did. on_roster: whether a roster names the student,
    where there is one. team: its name in term.toml.
    """

    student: str
    name: str = ""
    handed_in: bool = False
    graded: bool = False
    again: bool = False
    older: bool = False
    uncollected: bool = False
    marks: Mapping[str, Mark] = field(default_factory=dict)
    penalty: float = 0.0
    submitted: datetime | None = None
    until: datetime | None = None
    late: float = 0.0
    notes: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()
    on_roster: bool = True
    team: str = ""
    changed: tuple[str, ...] = ()
    checks: Mapping[str, tuple[Outcome, ...]] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)
    page: str = ""
    attempts: tuple[datetime, ...] = ()
    history: tuple[PastMark, ...] = ()
    own_process: tuple[str, ...] = ()

    @property
    def points(self) -> float:
        """What counts now, without what lateness takes."""
        return round(max(sum(mark.points or 0 for mark in self.marks.values()) - self.penalty, 0), 4)

    @property
    def waits(self) -> bool:
        return any(mark.waits for mark in self.marks.values())


@dataclass(frozen=True)
class LabClass:
    """A lab and everybody in the course. columns: in the lab's order.

    stubs, solutions: exercise -> its text as it is handed out, and as the course works it out.
    """

    lab: str
    columns: tuple[Column, ...]
    members: tuple[Member, ...]
    due: datetime | None = None
    stubs: Mapping[str, str] = field(default_factory=dict)
    solutions: Mapping[str, str] = field(default_factory=dict)

    @property
    def worth(self) -> float:
        return sum(column.worth for column in self.columns if not column.extra)

    @property
    def decided_in_own_process(self) -> tuple[str, ...]:
        """The graded cells that were, of any submission."""
        return tuple(sorted({name for member in self.members for name in member.own_process}))

    @property
    def extended(self) -> tuple[tuple[Member, datetime], ...]:
        """Who has an extension, and until when, the last to end first."""
        found = [(member, member.until) for member in self.members if member.until]
        return tuple(sorted(found, key=lambda each: each[1], reverse=True))

    @property
    def graded(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.graded)

    @property
    def counted(self) -> tuple[Member, ...]:
        """Of whom medians and means are: who is graded and on the roster, where there is one."""
        return tuple(member for member in self.graded if member.on_roster)
