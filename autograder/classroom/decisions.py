"""Records an instructor's decisions about a lab, after looking up the check and the student in the course."""

from __future__ import annotations

import re
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.utils import is_grade, parse_utc

from autograder.base.errors import GradlabError, format_problem
from autograder.gradebook.extensions import remember_extended, set_extension
from autograder.gradebook.notebook_file import read_course_notebook
from autograder.model.assignments import list_source_notebooks, refuse_unknown_lab
from autograder.model.metadata import get_cell_name, read_cell_metadata
from autograder.model.term import Excuse, Extension, add_excuse, add_extension

DATE = re.compile(r"\d+[-/.]\d+[-/.]\d+")


def grant_excuse(course: Path, lab: str, target: str, student: str, reason: str) -> Excuse:
    """Give full points for a check or an exercise, to everyone or to one student, and write that to term.toml.

    Args:
        target: An exercise, a check's id or label, or EXERCISE/CHECK.
        student: Who gets the points; empty for everyone.

    Raises:
        GradlabError: If `target` names no check, or several.
    """
    matches = _find_checks(course, lab, target)
    if len(matches) != 1:
        raise GradlabError(_describe_mismatch(course, lab, target, matches))
    exercise, check = matches[0]
    decision = Excuse(lab=lab, exercise=exercise, check=check, student=student, reason=reason)
    add_excuse(course, decision)
    return decision


def grant_extension(
    course: Path, gradebook: Gradebook, lab: str, student: str, until: str, reason: str
) -> tuple[datetime, str]:
    """Write the extension to term.toml, and apply it to a submission that the gradebook already has.

    Args:
        student: Who gets the extension.
        until: A time as nbgrader reads it, UTC unless it says otherwise.

    Returns:
        When the extension ends, in UTC, and what the instructor should know about it.
    """
    if DATE.fullmatch(until.strip()):
        raise GradlabError(f"{until!r} has no time of day", fix=f"for instance --until '{until.strip()} 23:59 UTC'")
    try:
        time = parse_utc(until)
    except (ValueError, OverflowError):
        raise GradlabError(f"{until!r} isn't a time", fix="for instance --until '2027-02-03 18:00 UTC'") from None
    due = next((a.duedate for a in gradebook.assignments if a.name == lab), None)
    if not any(a.name == lab for a in gradebook.assignments):
        refuse_unknown_lab(course, lab)
    refuse_unknown_student(course, gradebook, student)
    if due is not None and time <= due:
        raise GradlabError(
            f"{time} UTC is not after the due date, {due} UTC", fix="give a later time; nothing was written"
        )
    add_extension(course, Extension(lab=lab, student=student, until=time, reason=reason))
    remember_extended(course, lab, [student])
    try:
        set_extension(gradebook.find_submission(lab, student), due, time)
        gradebook.db.commit()
    except MissingEntry:
        pass  # the submission gets it when it's graded
    if due is None:
        return time, f"{lab} has no due date, so no one is late: nbgrader db assignment add {lab} --duedate TIME"
    return time, ""


def refuse_unknown_student(course: Path, gradebook: Gradebook, student: str) -> None:
    """Raise GradlabError if the course has no student of this name."""
    known = {s.id for s in gradebook.students} | {p.name for p in (course / "submitted").glob("*") if p.is_dir()}
    if student not in known:
        raise GradlabError(f"no student {student!r} in the gradebook or in submitted/", fix="check the name")


def _find_checks(course: Path, lab: str, target: str) -> list[tuple[str, str]]:
    """Return exercise and check of everything that the target may mean; the check is empty for a whole exercise."""
    exercise, _, check = target.partition("/")
    by_exercise = read_checks(course, lab)
    if target in by_exercise:
        return [(target, "")]
    if exercise in by_exercise and check:
        return [(exercise, id_) for id_, label in by_exercise[exercise].items() if check in (id_, label)]
    return [
        (name, id_) for name, checks in by_exercise.items() for id_, label in checks.items() if target in (id_, label)
    ]


def _describe_mismatch(course: Path, lab: str, target: str, matches: list[tuple[str, str]]) -> str:
    """Say which checks the target may mean, or that it names none, with the nearest names or else all of them."""
    if matches:
        names = ", ".join(f"{exercise}/{check}" for exercise, check in matches)
        return format_problem(f"{target!r} may mean any of {names}", "name one of them")
    lines: list[str] = []
    line_of: dict[str, str] = {}  # by valid name
    for exercise, checks in read_checks(course, lab).items():
        lines.append(f"    {exercise}")
        line_of[exercise] = lines[-1]
        for id_, label in checks.items():
            lines.append(f"    {exercise}/{id_}: {label}")
            line_of |= dict.fromkeys((f"{exercise}/{id_}", id_, label), lines[-1])
    if not lines:
        return f"{lab} has no graded cell, so there's nothing to excuse"
    nearest = list(dict.fromkeys(line_of[name] for name in get_close_matches(target, line_of, 3)))
    heading = f"similar names (to list all: gradlab excuse {lab} '')" if nearest else "its exercises and checks"
    return "\n".join([f"{lab} has no exercise or check {target!r}; {heading}:", *(nearest or lines)])


def read_checks(course: Path, lab: str) -> dict[str, dict[str, str]]:
    """Read the labels of checks, by exercise and id. A graded cell without its own checks is under its name."""
    refuse_unknown_lab(course, lab)
    labels: dict[str, dict[str, str]] = {}
    for path in list_source_notebooks(course, lab):
        for cell in read_course_notebook(path).cells:
            if is_grade(cell):
                metadata = read_cell_metadata(cell)
                checks = {check.id: check.label for check in metadata.checks} if metadata else {}
                labels[metadata.exercise if metadata else get_cell_name(cell)] = checks
    return labels
