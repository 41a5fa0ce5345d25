"""Reads results from nbgrader's gradebook and the autograded notebooks beside it."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook, MissingEntry

from autograder.build.checks import read_checks
from autograder.build.regions import find_regions
from autograder.errors import GradlabError
from autograder.results.schema import CheckResult, ExerciseResult, SubmissionResult
from autograder.submission.repair import notes_of
from labkit.verdict import MIME


def read_results(db_url: str, course: Path, lab: str) -> list[SubmissionResult]:
    """The results of every graded submission of a lab, by student. Raises GradlabError where the lab is unknown."""
    with Gradebook(db_url) as gradebook:
        try:
            submissions = gradebook.assignment_submissions(lab)
            gradebook.find_assignment(lab)
        except MissingEntry:
            raise GradlabError(f"the gradebook knows no lab {lab!r}: run gradlab grade {lab} first") from None
        return sorted((_result(s, course, lab) for s in submissions), key=lambda r: _natural(r.student))


def _natural(name: str) -> list[tuple[int, str]]:
    """A key that puts wrong_2 before wrong_10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _result(submission: Any, course: Path, lab: str) -> SubmissionResult:
    student = submission.student_id
    penalty = submission.late_submission_penalty or 0.0
    notebook = read_notebook(course / "autograded" / student / lab / f"{lab}.ipynb")
    verdicts = _verdicts(notebook) if notebook else {}
    grades = [grade for submitted in submission.notebooks for grade in submitted.grades]
    hidden = hidden_checks(course, lab)
    comments = {c.name: c.comment or "" for submitted in submission.notebooks for c in submitted.comments}
    exercises = [
        _exercise(g, verdicts.get(g.name, []), hidden.get(g.name, frozenset()), comments.get(g.name, ""))
        for g in grades
    ]
    order = [c.metadata.get("nbgrader", {}).get("grade_id") for c in notebook.cells] if notebook else []
    exercises.sort(key=lambda e: order.index(_cell_id(e)) if _cell_id(e) in order else len(order))
    return SubmissionResult(
        student=student,
        lab=lab,
        points=round(max(submission.score - penalty, 0), 4),
        worth=submission.max_score,
        penalty=round(penalty, 4),
        needs_manual_grade=submission.needs_manual_grade,
        exercises=tuple(exercises),
        notes=tuple(notes_of(notebook)) if notebook else (),
    )


def _exercise(grade: Any, checks: list[dict[str, Any]], hidden: frozenset[str], comment: str) -> ExerciseResult:
    by_hand = grade.name.startswith("question-")
    points = grade.manual_score if grade.manual_score is not None else grade.auto_score
    return ExerciseResult(
        name=grade.name.split("-", 1)[1],
        points=None if points is None or (by_hand and grade.needs_manual_grade) else points + (grade.extra_credit or 0),
        worth=grade.max_score,
        by_hand=by_hand,
        comment=comment,
        checks=tuple(check_result(c, c["label"] in hidden) for c in checks),
    )


def check_result(check: dict[str, Any], hidden: bool) -> CheckResult:
    """Of a hidden check, no text of the student's own exception: it could tell what the check passed in."""
    seen = check["misconception"] or check["seen"]
    if hidden and check["error"] and check.get("blame") != "process":
        seen = f"your code raised {check['error']}"
    return CheckResult(label=check["label"], passed=check["passed"], hidden=hidden, seen=seen, hint=check["hint"])


def hidden_checks(course: Path, lab: str) -> dict[str, frozenset[str]]:
    """grade_id -> labels of the hidden checks, as the source notebook has them."""
    path = course / "source" / lab / f"{lab}.ipynb"
    notebook = read_notebook(path)
    found = {}
    for cell in notebook.cells if notebook else []:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if grade_id.startswith("check-"):
            checks = read_checks(ast.parse(cell.source), find_regions(cell.source, path, 1), path, 1)
            found[grade_id] = frozenset(c.label for c in checks if c.hidden)
    return found


def _cell_id(exercise: ExerciseResult) -> str:
    return f"{'question' if exercise.by_hand else 'check'}-{exercise.name}"


def read_notebook(path: Path) -> Any:
    """The notebook in this file, or None where there is none."""
    return nbformat.read(path, as_version=4) if path.exists() else None


def _verdicts(notebook: Any) -> dict[str, list[dict[str, Any]]]:
    """grade_id -> the checks of the verdict that the cell displayed."""
    found = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if MIME in output.get("data", {}):
                found[cell.metadata["nbgrader"]["grade_id"]] = output["data"][MIME]["checks"]
    return found
