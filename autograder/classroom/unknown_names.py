"""Finds names in term.toml that the course doesn't have: typos that would otherwise silently have no effect.

Reports them together with what in submitted/ counts for no one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.base.errors import GradlabError, format_problem
from autograder.classroom.decisions import read_checks
from autograder.gradebook.enrolment import find_unenrolled, list_roster_students
from autograder.intake.strays import find_strays
from autograder.model.assignments import list_assignments, suggest_nearest
from autograder.model.term import TERM_FILE, Term

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

UNKNOWN_STUDENT = "who isn't on the roster and submitted nothing"


@dataclass(frozen=True)
class UnknownName:
    """A name in term.toml that the course doesn't have."""

    problem: str
    """The entry and the name; with the file's path in a list of all."""
    fix: str

    def format(self) -> str:
        return format_problem(self.problem, self.fix)


def list_warnings(course: Path, term: Term, gradebook: Gradebook, lab: str = "") -> list[str]:
    """Return a line for each unknown name, and for each stray in submitted/.

    Args:
        lab: Look only at what term.toml says for this lab; empty for all.
    """
    unknown = [name.format() for name in list_unknown_names(course, term, gradebook, lab)]
    return unknown + find_strays(course, list_roster_students(gradebook))


def list_unknown_names(course: Path, term: Term, gradebook: Gradebook, lab: str = "") -> list[UnknownName]:
    """Find each lab, student, exercise and check that doesn't exist.

    Args:
        lab: Look only at what applies to this lab, and at unknown labs; empty for all.
    """
    known = {*list_assignments(course), *(assignment.name for assignment in gradebook.assignments)}
    labs = sorted({lab} & known if lab else known)
    unknown = [*_find_unknown_labs(term, known), *_find_unknown_students(course, term, gradebook, labs)]
    for name in labs:
        unknown += [*_find_unknown_exercises(course, term, name), *_find_unknown_members(course, term, gradebook, name)]
    return [_add_place(course, name) for name in dict.fromkeys(unknown)]


def refuse_unknown_names(course: Path, lab: str, term: Term, gradebook: Gradebook) -> None:
    """Raise GradlabError if an unknown exercise, check or team member would make marks differ from the decisions."""
    if unknown := [*_find_unknown_exercises(course, term, lab), *_find_unknown_members(course, term, gradebook, lab)]:
        raise GradlabError("\n".join(_add_place(course, name).format() for name in unknown))


def _add_place(course: Path, name: UnknownName) -> UnknownName:
    return UnknownName(f"{course / TERM_FILE}: {name.problem}", name.fix)


def _find_unknown_labs(term: Term, known: Collection[str]) -> Iterator[UnknownName]:
    entries: list[tuple[str, Iterable[str]]] = [("[labs]", term.labs)]
    entries += [(f"[[extension]] of {each.student}", [each.lab]) for each in term.extension]
    entries += [(f"[[excuse]] of {each.exercise}", [each.lab]) for each in term.excuse]
    entries += [(f"team {team.name!r}", team.labs) for team in term.team]
    for entry, names in entries:
        for name in names:
            if name not in known:
                yield UnknownName(
                    f"{entry} names {name!r}, which isn't a lab of this course", _describe_fix(name, known)
                )


def _find_unknown_exercises(course: Path, term: Term, lab: str) -> Iterator[UnknownName]:
    """Yield a problem for each exercise or check that term.toml names in this lab but the lab doesn't have."""
    settings, excuses = term.lab(lab), [each for each in term.excuse if each.lab == lab]
    lists = {"extra_credit": settings.extra_credit, "further": settings.further}
    if lab not in list_assignments(course) or not (any(lists.values()) or excuses):
        return
    checks = read_checks(course, lab)
    for entry, exercise, check in (
        *((f"labs.{lab}.{key}", exercise, "") for key, exercises in lists.items() for exercise in exercises),
        *((f"[[excuse]] of {lab}", each.exercise, each.check) for each in excuses),
    ):
        name = exercise.rpartition("/")[2]  # a stock assignment's cell may be preceded by its notebook's name
        if name not in checks:
            yield UnknownName(f"{entry} names {exercise!r}, which {lab} doesn't have", _describe_fix(exercise, checks))
        elif check and check not in checks[name]:
            fix = _describe_fix(check, checks[name])
            yield UnknownName(f"{entry} names {check!r}, which isn't a check of {name} in {lab}", fix)


def _find_unknown_students(
    course: Path, term: Term, gradebook: Gradebook, labs: Collection[str]
) -> Iterator[UnknownName]:
    entries = [("[[extension]]", each.lab, each.student) for each in term.extension]
    entries += [("[[excuse]]", each.lab, each.student) for each in term.excuse if each.student]
    entries = [(entry, lab, student) for entry, lab, student in entries if lab in labs]
    unknown = _select_unknown(course, gradebook, {student for _, _, student in entries})
    for entry, lab, student in entries:
        if student in unknown:
            yield UnknownName(f"{entry} of {lab} names {student!r}, {UNKNOWN_STUDENT}", "correct the name")


def _find_unknown_members(course: Path, term: Term, gradebook: Gradebook, lab: str) -> Iterator[UnknownName]:
    for team in term.team:
        if team.is_for_lab(lab):
            for member in sorted(_select_unknown(course, gradebook, team.members)):
                yield UnknownName(
                    f"team {team.name!r} names {member!r}, {UNKNOWN_STUDENT}",
                    f"correct the name, or add this student: nbgrader db student add {member} --last-name NAME",
                )


def _select_unknown(course: Path, gradebook: Gradebook, students: Iterable[str]) -> set[str]:
    """Return the students that the course doesn't know; none if there is no roster to compare with."""
    return {each for each in find_unenrolled(gradebook, students) if not (course / "submitted" / each).is_dir()}


def _describe_fix(name: str, known: Collection[str]) -> str:
    return f"correct the name{suggest_nearest(name, known)}, or delete these lines"
