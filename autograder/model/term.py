"""What an instructor decided for this term: extensions, excused checks, teams, and what differs for one lab.

It is in term.toml in the course's folder, for people to read and to edit; `gradlab extend` and `gradlab excuse` add
to it. Times are UTC unless they say otherwise.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import tomlkit
from pydantic import AfterValidator, Field, ValidationError

from autograder.base.atomic_files import write_atomically
from autograder.base.errors import GradlabError
from autograder.model.course import Model

FILE = "term.toml"
Tell = Literal["all", "visible", "points"]  # how much of a mark: with hidden checks, without them, or only the points
TABLE = re.compile(r"(?<!\n)\n(?=\[\[?(?:extension|excuse|team|labs)\b)")  # one that begins without a blank line above
HEAD = "What was decided for this term. gradlab extend and gradlab excuse write here; you may edit it, too."


class Extension(Model):
    """A later end for one student, until which handing in a lab isn't late."""

    lab: str
    student: str
    until: datetime
    reason: str = ""


class Excuse(Model):
    """Full points for one check of an exercise, or for the whole exercise."""

    lab: str
    exercise: str
    check: str = ""
    """The check's id; empty for the whole exercise."""
    student: str = ""
    """Who gets the points; empty for everyone."""
    reason: str = ""


class Team(Model):
    """Students who hand in together: the newest submission of any member counts for all."""

    name: str
    members: tuple[str, ...]
    labs: tuple[str, ...] = ()
    """The labs for which they are a team; empty for all."""

    def is_for_lab(self, lab: str) -> bool:
        return not self.labs or lab in self.labs


class LabTerm(Model):
    """What differs for one lab."""

    practice: bool = False
    """Whether students see its marks, but no export and no total includes them."""
    extra_credit: tuple[str, ...] = ()
    """Exercises whose points come on top of the lab's."""
    solutions: datetime | None = None
    """From when on feedback shows the worked solution."""
    attempts: int | None = Field(default=None, ge=1)
    """How many submissions of one student `gradlab watch` marks."""
    wait_minutes: float = Field(default=0.0, ge=0)
    """How long a student waits between two attempts."""
    until: datetime | None = None
    """When `gradlab watch` stops marking."""
    tell: Tell = "all"
    """What a page shows that `gradlab watch` releases."""


def _refuse_crossed(team: tuple[Team, ...]) -> tuple[Team, ...]:
    """Raise ValueError if it isn't clear whose newest submission counts for a student."""
    for index, each in enumerate(team):
        if doubled := {member for member in each.members if each.members.count(member) > 1}:
            raise ValueError(f"team {each.name!r} names {', '.join(sorted(doubled))} twice")
        for other in team[:index]:
            if each.labs and other.labs and not set(each.labs) & set(other.labs):
                continue
            if both := set(each.members) & set(other.members):
                names = ", ".join(sorted(both))
                raise ValueError(f"{names} in two teams of one lab, {other.name!r} and {each.name!r}")
            if each.name == other.name:
                raise ValueError(f"two teams of one lab are called {each.name!r}")
    return team


class Term(Model):
    """The whole file. Fields have the names of its tables: `[labs.NAME]`, `[[extension]]`, `[[excuse]]`, `[[team]]`."""

    labs: dict[str, LabTerm] = Field(default_factory=dict)
    extension: tuple[Extension, ...] = ()
    excuse: tuple[Excuse, ...] = ()
    team: Annotated[tuple[Team, ...], AfterValidator(_refuse_crossed)] = ()

    def lab(self, lab: str) -> LabTerm:
        return self.labs.get(lab, LabTerm())

    @property
    def practice(self) -> frozenset[str]:
        """The labs whose marks are in no export and no total."""
        return frozenset(name for name, lab in self.labs.items() if lab.practice)

    def extended(self, lab: str) -> dict[str, datetime]:
        """When each student's extension ends, UTC without a zone, as nbgrader keeps times."""
        return {e.student: to_naive_utc(e.until) for e in self.extension if e.lab == lab}

    def excused(self, lab: str, student: str) -> dict[str, frozenset[str]]:
        """The checks that count as passed, by exercise; an empty set stands for all of them."""
        found: dict[str, frozenset[str]] = {}
        for excuse in self.excuse:
            if excuse.lab == lab and excuse.student in ("", student):
                before = found.get(excuse.exercise)
                whole = not excuse.check or before == frozenset()
                found[excuse.exercise] = frozenset() if whole else (before or frozenset()) | {excuse.check}
        return found

    def find_team(self, lab: str, student: str) -> Team | None:
        return next((t for t in self.team if student in t.members and t.is_for_lab(lab)), None)


def read_term(course: Path) -> Term:
    """The course's term; an empty one if there is no file. Raises GradlabError if the file isn't valid."""
    path = course / FILE
    try:
        return Term.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Term()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise GradlabError(f"{path} cannot be read: {error}") from None
    except ValidationError as error:
        unknown = "there is no such key"
        told = [
            (each["loc"], unknown if each["type"] == "extra_forbidden" else each["msg"].removeprefix("Value error, "))
            for each in error.errors()
        ]
        wrong = "\n".join(f"    {'.'.join(map(str, place))}: {words}" for place, words in told)
        raise GradlabError(f"{path} says what it cannot say:\n{wrong}") from None


def add_extension(course: Path, extension: Extension) -> None:
    """Add an extension, which replaces an earlier one of this student for this lab."""
    _add(course, "extension", extension, ("lab", "student"))


def add_excuse(course: Path, excuse: Excuse) -> None:
    """Add an excuse, which replaces the same one with another reason."""
    _add(course, "excuse", excuse, ("lab", "exercise", "check", "student"))


def _add(course: Path, kind: str, entry: Model, same: tuple[str, ...]) -> None:
    read_term(course)
    path = course / FILE
    document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else _create_document()
    if kind not in document:
        document.append(kind, tomlkit.aot())
    entries: Any = document[kind]
    said = {name: value for name, value in entry.model_dump().items() if value != ""}
    for number in reversed(range(len(entries))):
        if all(entries[number].get(name, "") == said.get(name, "") for name in same):
            del entries[number]
    entries.append(_make_table(said))
    write_atomically(path, TABLE.sub("\n\n", tomlkit.dumps(document)))


def _make_table(said: Mapping[str, Any]) -> Any:
    table = tomlkit.table()
    for name, value in said.items():
        table.add(name, to_utc(value) if isinstance(value, datetime) else value)
    return table


def _create_document() -> Any:
    document = tomlkit.document()
    document.add(tomlkit.comment(HEAD))
    document.add(tomlkit.nl())
    return document


def to_utc(time: datetime) -> datetime:
    """The time in UTC; one without a zone is taken as UTC."""
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)


def to_naive_utc(time: datetime) -> datetime:
    """The time in UTC without a zone, as nbgrader keeps times."""
    return to_utc(time).replace(tzinfo=None)


def format_minute(when: datetime) -> str:
    """A time to the minute, without a zone."""
    return f"{when:%Y-%m-%d %H:%M}"
