"""The marks of a notebook's exercises, as the course panel and the cards in a student's notebook show them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from nbformat import NotebookNode

from autograder.gradebook.submission_result import GradedCellResult, SubmissionResult
from autograder.model.term import Tell
from autograder.reports.exercise_cells import find_another_way
from autograder.reports.student_view import ShownCheck
from labkit.lab_progress import HiddenFinding
from labkit.mark_file import ExerciseMark
from labkit.notebook_progress import digest_sources
from labkit.untrusted_json import DAMAGED


def build_exercise_marks(
    exercises: Sequence[GradedCellResult],
    view: Mapping[str, Sequence[ShownCheck]],
    notebook: NotebookNode,
    sources: Mapping[str, str],
    shows_answers: bool = True,
) -> dict[str, ExerciseMark]:
    """Build the marks by exercise. One that a person still has to mark has none.

    Args:
        exercises: The exercises of one notebook.
        view: Their checks, as the student may see them.
        notebook: The autograded notebook.
        sources: The digest of each exercise's cell as the student wrote it.
        shows_answers: Whether another answer is given with full marks.
    """
    marks = {}
    for exercise in exercises:
        if exercise.points is None or exercise.name not in sources:
            continue
        other = find_another_way(notebook, exercise) if shows_answers else None
        hidden = tuple(
            HiddenFinding(check.label, check.passed, _describe_finding(check), check.hints)
            for check in view[exercise.name]
            if check.hidden
        )
        source = sources[exercise.name]
        marks[exercise.name] = ExerciseMark(source, exercise.points, hidden, other.source if other else "")
    return marks


def format_page_marks(
    result: SubmissionResult, view: Mapping[str, Sequence[ShownCheck]], notebook: NotebookNode, tell: Tell
) -> str:
    """Format the marks for a feedback page, whose reader's server keeps them: as JSON, by exercise.

    Args:
        result: With the exercises that count on this page. Of the others, the page doesn't say the mark.
        view: Their checks, as the student may see them.
        notebook: The autograded notebook.
        tell: What the page shows.
    """
    try:
        sources = digest_sources(notebook)
    except DAMAGED:  # a student wrote it, and the panel can't show marks in it
        return "{}"
    marks = build_exercise_marks(result.exercises, view, notebook, sources, shows_answers=tell == "all")
    return json.dumps({name: asdict(mark) for name, mark in marks.items()})


def _describe_finding(check: ShownCheck) -> str:
    expected = f"expected: {check.expected}" if check.expected else ""
    call = f"call: {check.call}" if check.call else ""
    return "\n".join(filter(None, (check.unearned, call, check.seen, expected)))
