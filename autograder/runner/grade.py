"""Grades the submissions of a lab through nbgrader, one after the other; none of them stops the class."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.errors import GradlabError
from autograder.runner.nbgrader_api import must
from autograder.sandbox import require
from autograder.submission.files import settle


@dataclass(frozen=True)
class Graded:
    """A submission that was graded, or what kept the course from grading it."""

    student: str
    failure: str = ""


def submitted_students(course: Path, lab: str) -> list[str]:
    """Who handed in this lab: folders submitted/STUDENT/LAB."""
    folders = (course / "submitted").iterdir() if (course / "submitted").is_dir() else ()
    return sorted(folder.name for folder in folders if os.path.lexists(folder / lab))


def prepare(api: Any, lab: str) -> None:
    """Put the lab's cells and points into the gradebook, as `nbgrader generate_assignment` does."""
    must(api.generate_assignment(lab, force=True, create=True), f"putting {lab} into the gradebook")


def grade_lab(api: Any, course: Path, lab: str, student: str = "") -> Iterator[Graded]:
    """Grade every submission of the lab, or one student's, and yield each as it is done."""
    if not (course / "source" / lab / f"{lab}.ipynb").exists():
        raise GradlabError(f"no lab {lab!r} in {course}/source: run gradlab build, or check the name")
    require(api.config.Examine.get("isolation", "full"))
    students = [s for s in submitted_students(course, lab) if not student or s == student]
    if not students:
        who = f"from {student} " if student else ""
        raise GradlabError(
            f"no submission {who}in {course}/submitted/*/{lab}: collect them with nbgrader collect {lab}"
        )
    prepare(api, lab)
    for name in students:
        yield _grade_one(api, course, lab, name)


def _grade_one(api: Any, course: Path, lab: str, student: str) -> Graded:
    if glob.escape(student) != student:
        reason = "nbgrader takes *, ? and [ in a name for a pattern: rename the folder"
        return Graded(student, f"{reason} {course / 'submitted' / student}")
    try:
        settle(course / "submitted" / student / lab, lab)
    except OSError as error:
        return Graded(student, f"its folder cannot be read or put in order: {error}")
    result = api.autograde(lab, student, force=True, create=True)
    if result["success"]:
        return Graded(student)
    # A submission cannot bring nbgrader to fail: this is the course's own trouble. Marks given before stay.
    log = course / "results" / lab / f"{student}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(f"{result.get('log', '')}\n{result.get('error', '')}", encoding="utf-8", errors="replace")
    return Graded(student, f"{cause(result)}\n    its mark was not touched; the whole log is {log}")


def cause(result: dict[str, Any]) -> str:
    """The exception that nbgrader logged, in its last line; nbgrader's own summary only points at the log."""
    lines = f"{result.get('log', '')}\n{result.get('error', '')}".splitlines()
    errors = [text for text in map(str.strip, lines) if re.match(r"[\w.]*(Error|Exception|Exit)\b.*: ", text)]
    named = [text for text in errors if "traceback for details" not in text]
    return (named or errors or ["nbgrader gave no reason"])[0]
