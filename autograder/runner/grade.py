"""Grades the submissions of a lab through nbgrader, one after the other; none of them stops the class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry

from autograder.errors import GradlabError
from autograder.runner.nbgrader_api import must


@dataclass(frozen=True)
class Graded:
    """A submission that was graded, or the reason why it could not be."""

    student: str
    failure: str = ""


def submitted_students(course: Path, lab: str) -> list[str]:
    """Who handed in this lab: folders submitted/STUDENT/LAB."""
    return sorted(p.parent.name for p in (course / "submitted").glob(f"*/{lab}") if p.is_dir())


def prepare(api: Any, lab: str) -> None:
    """Put the lab's cells and points into the gradebook, as `nbgrader generate_assignment` does."""
    must(api.generate_assignment(lab, force=True, create=True), f"putting {lab} into the gradebook")


def grade_lab(api: Any, course: Path, lab: str, student: str = "") -> Iterator[Graded]:
    """Grade every submission of the lab, or one student's, and yield each as it is done."""
    if not (course / "source" / lab / f"{lab}.ipynb").exists():
        raise GradlabError(f"no lab {lab!r} in {course}/source: run gradlab build, or check the name")
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
    notebook = course / "submitted" / student / lab / f"{lab}.ipynb"
    if not notebook.exists() and not notebook.is_symlink():
        _score_nothing(api, lab, student)
        return Graded(student, f"no {lab}.ipynb was handed in: it counts as empty")
    result = api.autograde(lab, student, force=True, create=True)
    if result["success"]:
        return Graded(student)
    _score_nothing(api, lab, student)
    words = (result.get("error") or result.get("log") or "no reason given").strip().splitlines()
    return Graded(student, f"grading failed, so it counts as empty until it is graded again: {words[-1]}")


def _score_nothing(api: Any, lab: str, student: str) -> None:
    """Every submission ends with a score: what could not be graded has none of the points, and is seen by a person."""
    with Gradebook(api.coursedir.db_url, api.coursedir.course_id) as gradebook:
        gradebook.update_or_create_student(student)
        try:
            submission = gradebook.find_submission(lab, student)
        except MissingEntry:
            submission = gradebook.add_submission(lab, student)
        for notebook in submission.notebooks:
            for grade in notebook.grades:
                grade.auto_score, grade.needs_manual_grade = 0, True
        gradebook.db.commit()
