"""A page for each student: what passed, what failed and why, hints, and the student's own code, output and pictures.

It holds no line of a hidden check, none of its inputs and none of its expected values.
"""

from __future__ import annotations

import copy
import logging
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

from autograder.authoring.regions import strip_markers
from autograder.base.submission_files import SECRET, TIMESTAMP
from autograder.base.timestamps import get_utc_now
from autograder.gradebook.notebook_file import read_course_notebook
from autograder.gradebook.submission_result import SubmissionResult
from autograder.model.assignments import AssignmentKind
from autograder.model.course import CellKind
from autograder.model.metadata import read_cell_metadata, read_title
from autograder.model.note_sentences import describe_notes
from autograder.model.term import Tell, Term, read_term, to_naive_utc
from autograder.rendering.course_text import format_line
from autograder.rendering.prose import limit_page, render_code, render_prose
from autograder.reports.exercise_cells import (
    find_another_way,
    find_exercise_title,
    find_quiz,
    is_blank,
    read_letters,
    render_question,
)
from autograder.reports.exercise_marks import format_page_marks
from autograder.reports.page_templates import render_template
from autograder.reports.standing import format_duration
from autograder.reports.stock_cells import group_stock_cells, select_notebook
from autograder.reports.student_cells import render_cell, render_student_cells
from autograder.reports.student_view import (
    EXCUSED,
    ShownCheck,
    build_student_view,
    drop_hidden_checks,
    find_own_process_names,
)
from labkit.difference import Difference
from labkit.hint import fold_hints
from labkit.quiz_source import drop_half_labels
from labkit.value_table import render_values

LOG = logging.getLogger(__name__)
STUDENT_KINDS = (CellKind.EXERCISE, CellKind.QUESTION)
NOT_SHOWN = "(This can't be shown on this page. Your notebook has it.)"


@dataclass(frozen=True)
class PageOptions:
    """What a feedback page shows besides the result."""

    tell: Tell = "all"
    """Which checks, see term.LabTerm."""
    solutions: Mapping[str, str] = field(default_factory=dict)
    """The worked solutions, by exercise."""
    notebook_name: str = ""
    """The only notebook that the page is about, in a stock assignment."""
    attempts: str = ""
    """A line about attempts."""
    is_own_copy: bool = False
    """Whether it's for a student who works alone, without an instructor."""


EVERYTHING = PageOptions()


def write_feedback(
    results: Sequence[SubmissionResult],
    course: Path,
    lab: str,
    tell: Tell = "all",
    attempts: str = "",
    term: Term | None = None,
) -> list[Path]:
    """Write feedback/STUDENT/LAB/LAB.html for each graded submission, where nbgrader's release_feedback looks.

    After the time that term.toml sets, pages show the worked solution, except to students with a current extension.

    Args:
        tell: What a page shows, see term.LabTerm.
        attempts: A line about attempts.
        term: The instructor's decisions; read from the course if the caller hasn't.
    """
    pages = []
    term = term or read_term(course)
    solutions = read_released_solutions(course, lab, term)
    working = {student for student, until in term.get_extensions(lab).items() if until > get_utc_now()}
    for result in results:
        autograded = course / "autograded" / result.student / lab
        notebooks = [name for name in result.notebooks or (lab,) if (autograded / f"{name}.ipynb").exists()]
        if not notebooks:
            continue
        folder = course / "feedback" / result.student / lab
        folder.mkdir(parents=True, exist_ok=True)
        for name in (TIMESTAMP, SECRET):
            (folder / name).unlink(missing_ok=True)  # from an earlier submission, or from another member of the team
            if (autograded / name).exists():
                shutil.copyfile(autograded / name, folder / name)
        for name in notebooks:
            page = folder / f"{name}.html"
            notebook = read_course_notebook(autograded / f"{name}.ipynb")
            worked = {} if result.student in working else solutions
            text = render_page_with_fallback(result, notebook, PageOptions(tell, worked, name, attempts))
            page.write_text(text, encoding="utf-8")
            pages.append(page)
    return pages


def render_page_with_fallback(result: SubmissionResult, notebook: Any, options: PageOptions) -> str:
    """Render the page. If the student's work can't be shown, leave it out: the mark must still reach the student."""
    with limit_page():
        try:
            return render_feedback_page(result, notebook, options)
        except Exception as error:  # a student wrote the notebook
            reason = type(error).__name__  # its text may quote the student
            LOG.warning("the page of %s for %s leaves out the student's work (%s)", result.student, result.lab, reason)
            return render_feedback_page(result, _strip_work(notebook), options)


def _strip_work(notebook: Any) -> Any:
    """Return the notebook without outputs, and with a placeholder instead of each text that the student wrote."""
    bare = copy.deepcopy(notebook)
    for cell in bare.cells:
        metadata = read_cell_metadata(cell)
        if metadata is None or metadata.kind in STUDENT_KINDS:
            cell.source = NOT_SHOWN
            cell.pop("attachments", None)
        if cell.cell_type == "code":
            cell.outputs = []
    return bare


def render_feedback_page(result: SubmissionResult, notebook: Any, options: PageOptions = EVERYTHING) -> str:
    """Return the page as HTML.

    Args:
        result: The submission's result, with its hidden checks.
        notebook: The autograded notebook, with the student's own cells and their outputs.
        options: What the page shows.
    """
    tell, name = options.tell, options.notebook_name
    whole, result = select_notebook(result, name), select_notebook(drop_hidden_checks(result, tell), name)
    hidden_points = {
        e.name: round(e.worth - shown.worth, 4) for e, shown in zip(whole.exercises, result.exercises, strict=True)
    }
    blank = {e.name for e in result.exercises if is_blank(notebook, e)}
    if result.kind is AssignmentKind.STOCK:
        by_exercise, others = group_stock_cells(notebook, whole.exercises)
        cells = {name: [render_cell(cell) for cell in group] for name, group in by_exercise.items()}
    else:
        # Of an unchanged answer, only the cells that the student added below it say anything.
        cells, others = {e.name: render_student_cells(notebook, e)[e.name in blank :] for e in result.exercises}, []
    shows_all = tell == "all"  # a quiz's key, or another answer, would reveal the rest
    view = build_student_view(whole.exercises, tell, options.is_own_copy)
    told = result.model_copy(update={"exercises": tuple(e for e in result.exercises if not hidden_points[e.name])})
    values = {
        "title": read_title(notebook) or result.lab,
        "marks": format_page_marks(told, view, notebook, tell),
        "checks": view,
        "failures": {name: _list_failures(checks) for name, checks in view.items()},
        "shared": {name: sum(check.points for check in shown) for name, shown in view.items()},
        "cells": cells,
        "other_cells": [render_cell(cell) for cell in others],
        "questions": {e.name: render_question(notebook, e) for e in result.exercises if e.by_hand},
        "quizzes": {e.name: find_quiz(notebook, e.name) if shows_all else () for e in result.exercises},
        "letters": {e.name: read_letters(notebook, e.name) for e in result.exercises},
        "alternatives": {e.name: find_another_way(notebook, e) if shows_all else None for e in result.exercises},
        "own_process": find_own_process_names(whole.exercises),
        "blank": blank,
        "titles": {e.name: find_exercise_title(notebook, e.name) for e in result.exercises},
        "tell": tell,
        "hidden_points": hidden_points,
        "solutions": options.solutions,
        "attempts": options.attempts,
        "is_own_copy": options.is_own_copy,
        "excused": EXCUSED,
        "duration": format_duration,
        "notes": describe_notes(result.notes, len(result.notebooks)),
    }
    return render_template(
        "feedback.html.j2",
        result=result,
        matrices=_render_matrices,
        hints=_render_hints,
        prose=render_prose,
        code=render_code,
        **values,
    )


def read_released_solutions(course: Path, lab: str, term: Term) -> dict[str, str]:
    """Return the worked solutions by exercise; none before the time that term.toml sets for them.

    They're read from source/, since the notebooks in solutions/ don't say which cell answers which exercise.
    """
    since = term.lab(lab).solutions
    path = course / "source" / lab / f"{lab}.ipynb"
    if since is None or to_naive_utc(since) > get_utc_now() or not path.exists():
        return {}
    cells = ((read_cell_metadata(cell), strip_markers(cell.source)) for cell in read_course_notebook(path).cells)
    return {
        metadata.exercise: text
        for metadata, text in cells
        if metadata and metadata.kind in STUDENT_KINDS and text.strip()
    }


def _list_failures(checks: Sequence[ShownCheck]) -> list[str]:
    """Say which checks failed, one for each question of a quiz, and which ran out of time."""
    failed = [check for check in checks if not check.passed and check.unearned != EXCUSED]
    late = {check.label for check in failed if check.is_late}
    labels = drop_half_labels([check.label for check in failed])
    return [f"{'out of time' if label in late else 'fails'}: {label}" for label in labels]


def _render_matrices(difference: Difference) -> Markup:
    """Render the student's values and the expected ones, as numbers or shades."""
    return Markup(render_values(difference))


def _render_hints(hints: tuple[str, ...]) -> Markup:
    """Render hints that open one by one."""
    return Markup(fold_hints(hints, format_line))
