"""Names in term.toml that the course doesn't have: typos, which would otherwise have no effect and give no warning.

Where they are reported, so is what in submitted/ counts for no one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from autograder.base.errors import GradlabError
from autograder.classroom.decisions import read_checks
from autograder.gradebook.enrolment import find_strangers, list_roster_students
from autograder.intake.strays import find_strays
from autograder.model.assignments import list_assignments, suggest_nearest
from autograder.model.term import FILE, Term

NOBODY = "who is on no roster and handed in nothing\n    fix: correct the name"


def list_doubtful(course: Path, term: Term, gradebook: Any, lab: str = "") -> list[str]:
    """A line for each unknown name, and for each stray in submitted/.

    Args:
        lab: Look only at what term.toml says for this lab; empty for all.
    """
    return list_unknown_names(course, term, gradebook, lab) + find_strays(course, list_roster_students(gradebook))


def list_unknown_names(course: Path, term: Term, gradebook: Any, lab: str = "") -> list[str]:
    """Labs, students, exercises and checks that don't exist, each in words with its fix.

    Args:
        lab: Look only at what applies to this lab, and at unknown labs; empty for all.
    """
    known = {*list_assignments(course), *(assignment.name for assignment in gradebook.assignments)}
    labs = sorted({lab} & known if lab else known)
    found = [*_find_unknown_labs(term, known), *_find_unknown_students(course, term, gradebook, labs)]
    for each in labs:
        found += [*_find_unknown_exercises(course, term, each), *_find_unknown_members(course, term, gradebook, each)]
    return [f"{course / FILE}: {words}" for words in dict.fromkeys(found)]


def refuse_unknown_names(course: Path, lab: str, term: Term, gradebook: Any) -> None:
    """Raise GradlabError if an unknown exercise, check or team member would make marks differ from what was decided."""
    if found := [*_find_unknown_exercises(course, term, lab), *_find_unknown_members(course, term, gradebook, lab)]:
        raise GradlabError("\n".join(f"{course / FILE}: {words}" for words in found))


def _find_unknown_labs(term: Term, known: Collection[str]) -> Iterator[str]:
    entries: list[tuple[str, Iterable[str]]] = [("[labs]", term.labs)]
    entries += [(f"[[extension]] of {each.student}", [each.lab]) for each in term.extension]
    entries += [(f"[[excuse]] of {each.exercise}", [each.lab]) for each in term.excuse]
    entries += [(f"team {team.name!r}", team.labs) for team in term.team]
    for where, names in entries:
        for name in names:
            if name not in known:
                yield f"{where} names {name!r}, which is no lab of this course\n    fix: {_describe_fix(name, known)}"


def _find_unknown_exercises(course: Path, term: Term, lab: str) -> Iterator[str]:
    extra, excuses = term.lab(lab).extra_credit, [each for each in term.excuse if each.lab == lab]
    if lab not in list_assignments(course) or not (extra or excuses):
        return
    checks = read_checks(course, lab)
    for where, exercise, check in (
        *((f"labs.{lab}.extra_credit", exercise, "") for exercise in extra),
        *((f"[[excuse]] of {lab}", each.exercise, each.check) for each in excuses),
    ):
        meant = exercise.rpartition("/")[2]  # a stock assignment's cell may be preceded by its notebook's name
        if meant not in checks:
            yield f"{where} names {exercise!r}, which {lab} does not have\n    fix: {_describe_fix(exercise, checks)}"
        elif check and check not in checks[meant]:
            fix = _describe_fix(check, checks[meant])
            yield f"{where} names {check!r}, which is no check of {meant} in {lab}\n    fix: {fix}"


def _find_unknown_students(course: Path, term: Term, gradebook: Any, labs: Collection[str]) -> Iterator[str]:
    entries = [("[[extension]]", each.lab, each.student) for each in term.extension]
    entries += [("[[excuse]]", each.lab, each.student) for each in term.excuse if each.student]
    wanted = [(where, lab, student) for where, lab, student in entries if lab in labs]
    unknown = _select_unknown(course, gradebook, {student for _, _, student in wanted})
    for where, lab, student in wanted:
        if student in unknown:
            yield f"{where} of {lab} names {student!r}, {NOBODY}"


def _find_unknown_members(course: Path, term: Term, gradebook: Any, lab: str) -> Iterator[str]:
    for team in term.team:
        if team.is_for_lab(lab):
            for member in sorted(_select_unknown(course, gradebook, team.members)):
                add = f"nbgrader db student add {member} --last-name NAME"
                yield f"team {team.name!r} names {member!r}, {NOBODY}, or add this student: {add}"


def _select_unknown(course: Path, gradebook: Any, students: Iterable[str]) -> set[str]:
    """The students that the course doesn't know; no one if there is no roster to compare with."""
    return {each for each in find_strangers(gradebook, students) if not (course / "submitted" / each).is_dir()}


def _describe_fix(name: str, known: Collection[str]) -> str:
    return f"correct the name{suggest_nearest(name, known)}, or delete these lines"
