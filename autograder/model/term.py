"""The instructor's decisions for this term: extensions, excused checks, teams, and settings of single labs.

They're in term.toml in the course's folder, which people can read and edit; `gradlab extend` and `gradlab excuse` add
to it. Times are UTC unless they say otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import tomlkit
from pydantic import AfterValidator, Field

from autograder.base.atomic_files import write_atomically
from autograder.model.settings_file import read_settings_file
from autograder.model.strict_model import StrictModel

FIX = "correct it; docs/settings.md lists the keys"
TERM_FILE = "term.toml"
Tell = Literal["all", "visible", "points"]  # how much of a mark: with hidden checks, without them, or only the points
TABLE = re.compile(r"(?<!\n)\n(?=\[\[?(?:extension|excuse|team|labs)\b)")  # one without a blank line above
HEAD = "Decisions for this term. gradlab extend and gradlab excuse write here, and you can edit it, too."


class Extension(StrictModel):
    """A later due date of a lab for one student."""

    lab: str
    student: str
    until: datetime
    reason: str = ""


class Excuse(StrictModel):
    """Full points for one check of an exercise, or for the whole exercise."""

    lab: str
    exercise: str
    check: str = ""
    """The check's id; empty for the whole exercise."""
    student: str = ""
    """Who gets the points; empty for everyone."""
    reason: str = ""


@dataclass(frozen=True)
class ExcusedChecks:
    """The checks of one exercise that count as passed."""

    ids: frozenset[str] = frozenset()
    is_whole: bool = False
    """Whether the whole exercise is excused."""

    def __bool__(self) -> bool:
        return self.is_whole or bool(self.ids)

    def has_check(self, check_id: str) -> bool:
        return self.is_whole or check_id in self.ids


class Team(StrictModel):
    """Students who submit together: the newest submission of any member counts for all."""

    name: str
    members: tuple[str, ...]
    labs: tuple[str, ...] = ()
    """The labs for which they are a team; empty for all."""

    def is_for_lab(self, lab: str) -> bool:
        return not self.labs or lab in self.labs


class LabTerm(StrictModel):
    """The settings of one lab."""

    practice: bool = False
    """Whether students see its marks, but no export and no total includes them."""
    extra_credit: tuple[str, ...] = ()
    """Exercises whose points are extra credit."""
    further: tuple[str, ...] = ()
    """Further exercises that earn points."""
    solutions: datetime | None = None
    """When feedback begins to show the worked solution."""
    attempts: int | None = Field(default=None, ge=1)
    """How many submissions of one student `gradlab watch` marks."""
    wait_minutes: float = Field(default=0.0, ge=0)
    """How long a student waits between two attempts."""
    until: datetime | None = None
    """When `gradlab watch` stops marking."""
    tell: Tell = "all"
    """What pages released by `gradlab watch` show."""


def _refuse_overlap(teams: tuple[Team, ...]) -> tuple[Team, ...]:
    """Raise ValueError if it isn't clear whose newest submission counts for a student."""
    for index, team in enumerate(teams):
        if repeated := {member for member in team.members if team.members.count(member) > 1}:
            raise ValueError(f"team {team.name!r} names {', '.join(sorted(repeated))} twice")
        for other in teams[:index]:
            if team.labs and other.labs and not set(team.labs) & set(other.labs):
                continue
            if both := set(team.members) & set(other.members):
                names = ", ".join(sorted(both))
                raise ValueError(f"{names} in two teams for the same lab, {other.name!r} and {team.name!r}")
            if team.name == other.name:
                raise ValueError(f"two teams of one lab are called {team.name!r}")
    return teams


class Term(StrictModel):
    """The whole file. Fields have the names of its tables: `[labs.NAME]`, `[[extension]]`, `[[excuse]]`, `[[team]]`."""

    labs: dict[str, LabTerm] = Field(default_factory=dict)
    extension: tuple[Extension, ...] = ()
    excuse: tuple[Excuse, ...] = ()
    team: Annotated[tuple[Team, ...], AfterValidator(_refuse_overlap)] = ()

    def lab(self, lab: str) -> LabTerm:
        return self.labs.get(lab, LabTerm())

    @property
    def practice_labs(self) -> frozenset[str]:
        """The labs whose marks are in no export and no total."""
        return frozenset(name for name, lab in self.labs.items() if lab.practice)

    @property
    def further(self) -> dict[str, tuple[str, ...]]:
        """The further exercises of each lab that earn points."""
        return {name: lab.further for name, lab in self.labs.items()}

    def get_extensions(self, lab: str) -> dict[str, datetime]:
        """Return when each student's extension ends, in naive UTC, as nbgrader keeps times."""
        return {e.student: to_naive_utc(e.until) for e in self.extension if e.lab == lab}

    def get_excuses(self, lab: str, student: str) -> dict[str, ExcusedChecks]:
        """Return the checks that count as passed, by exercise."""
        excused: dict[str, ExcusedChecks] = {}
        for excuse in self.excuse:
            if excuse.lab == lab and excuse.student in ("", student):
                before = excused.get(excuse.exercise, ExcusedChecks())
                ids = before.ids | set(filter(None, [excuse.check]))
                excused[excuse.exercise] = ExcusedChecks(ids, before.is_whole or not excuse.check)
        return excused

    def find_team(self, lab: str, student: str) -> Team | None:
        return next((t for t in self.team if student in t.members and t.is_for_lab(lab)), None)


def read_term(course: Path) -> Term:
    """Read the course's term.toml; without the file, the term is empty. Raises GradlabError if the file isn't valid."""
    try:
        return read_settings_file(course / TERM_FILE, Term, FIX)
    except FileNotFoundError:
        return Term()


def add_extension(course: Path, extension: Extension) -> None:
    """Add an extension, which replaces an earlier one of this student for this lab."""
    _add(course, "extension", extension, ("lab", "student"))


def add_excuse(course: Path, excuse: Excuse) -> None:
    """Add an excuse, which replaces the same one with another reason."""
    _add(course, "excuse", excuse, ("lab", "exercise", "check", "student"))


def _add(course: Path, kind: str, entry: StrictModel, same: tuple[str, ...]) -> None:
    read_term(course)
    path = course / TERM_FILE
    document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else _create_document()
    if kind not in document:
        document.append(kind, tomlkit.aot())
    entries: Any = document[kind]
    fields = {name: value for name, value in entry.model_dump().items() if value != ""}
    for number in reversed(range(len(entries))):
        if all(entries[number].get(name, "") == fields.get(name, "") for name in same):
            del entries[number]
    entries.append(_make_table(fields))
    write_atomically(path, TABLE.sub("\n\n", tomlkit.dumps(document)))


def _make_table(fields: Mapping[str, Any]) -> Any:
    table = tomlkit.table()
    for name, value in fields.items():
        table.add(name, to_utc(value) if isinstance(value, datetime) else value)
    return table


def _create_document() -> Any:
    document = tomlkit.document()
    document.add(tomlkit.comment(HEAD))
    document.add(tomlkit.nl())
    return document


def to_utc(time: datetime) -> datetime:
    """Convert a time to UTC; one without a zone is taken as UTC."""
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)


def to_naive_utc(time: datetime) -> datetime:
    """Convert a time to naive UTC, as nbgrader keeps times."""
    return to_utc(time).replace(tzinfo=None)


def format_minute(time: datetime) -> str:
    """Format a time to the minute, without a zone."""
    return f"{time:%Y-%m-%d %H:%M}"
