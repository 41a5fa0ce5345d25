"""A page for each student: what passed, what failed and why, hints, and the student's own code, output and pictures.

It holds no line of a hidden check, none of its inputs and none of its expected values.
"""

from __future__ import annotations

import base64
import copy
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

from autograder.authoring.regions import strip_markers
from autograder.base.timestamps import SECRET, TIMESTAMP, get_utc_now
from autograder.gradebook.notebook_file import read_notebook
from autograder.gradebook.submission_result import ExerciseResult, SubmissionResult
from autograder.intake.cell_origin import find_lab_answer
from autograder.model.course import AnotherWay, Kind, QuizStatement
from autograder.model.metadata import Facts, get_cell_name, make_cell_name, read_facts, read_kind
from autograder.model.note_sentences import describe_notes
from autograder.model.term import Tell, Term, read_term, to_naive_utc
from autograder.reports.picture_size import MAX_PIXELS, count_pixels
from autograder.reports.prose import bound_page, render_prose, reserve_pixels
from autograder.reports.render import render
from autograder.reports.safe_svg import count_safe_pixels
from autograder.reports.standing import format_duration
from autograder.reports.stock_cells import group_stock_cells, select_part
from autograder.reports.student_view import (
    EXCUSED,
    build_student_view,
    find_own_process_names,
    leave_out_hidden_checks,
)
from labkit.difference import Difference
from labkit.hint import fold_hints
from labkit.pictures.shades import draw_side_by_side

LETTERS = re.compile(r"""\b(q\d+)["']?\s*[:=]\s*["']([A-Ea-e, ]*)["']""")  # "q1": "abc", and q1="abc"
NO_SOLUTIONS: Mapping[str, str] = {}
STUDENT_KINDS = (Kind.EXERCISE, Kind.QUESTION)
MAX_TEXT = 20_000  # characters of one output
NOT_SHOWN = "(This can't be shown on this page. Your notebook has it.)"


@dataclass
class ShownCell:
    """A student's cell with its output and pictures."""

    source: str
    words: Markup | None = None
    """An answer in words, as HTML."""
    text: str = ""
    """What it printed."""
    pictures: list[tuple[str, str]] = field(default_factory=list)
    """Data URLs of PNG or safe SVG, each with its description."""


def write_feedback(
    results: Sequence[SubmissionResult], course: Path, lab: str, tell: Tell = "all", attempts: str = ""
) -> list[Path]:
    """Write feedback/STUDENT/LAB/LAB.html for each graded submission, where nbgrader's release_feedback looks.

    After the time that term.toml sets, pages show the worked solution, except to students with a current extension.

    Args:
        tell: What a page shows, see term.LabTerm.
        attempts: A line about attempts.
    """
    pages = []
    term = read_term(course)
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
            notebook = read_notebook(autograded / f"{name}.ipynb")
            worked = NO_SOLUTIONS if result.student in working else solutions
            text = render_page_with_fallback(result, notebook, tell, worked, name, attempts)
            page.write_text(text, encoding="utf-8")
            pages.append(page)
    return pages


def render_page_with_fallback(result: SubmissionResult, notebook: Any, *options: Any) -> str:
    """Render the page. If the student's work can't be shown, leave it out: the mark must still reach the student."""
    with bound_page():
        try:
            return render_feedback_page(result, notebook, *options)
        except Exception:
            return render_feedback_page(result, _strip_work(notebook), *options)


def _strip_work(notebook: Any) -> Any:
    """Return the notebook without outputs, and with a placeholder instead of each text that the student wrote."""
    bare = copy.deepcopy(notebook)
    for cell in bare.cells:
        facts = read_facts(cell)
        if facts is None or facts.kind in STUDENT_KINDS:
            cell.source = NOT_SHOWN
            cell.pop("attachments", None)
        if cell.cell_type == "code":
            cell.outputs = []
    return bare


def render_feedback_page(
    result: SubmissionResult,
    notebook: Any,
    tell: Tell = "all",
    solutions: Mapping[str, str] = NO_SOLUTIONS,
    part: str = "",
    attempts: str = "",
) -> str:
    """Return the page as HTML.

    Args:
        notebook: The autograded notebook, with the student's own cells and their outputs.
        tell: What the page shows, see term.LabTerm.
        solutions: The worked solutions, by exercise.
        part: The notebook's name, in a stock assignment.
        attempts: A line about attempts.
    """
    whole, result = select_part(result, part), select_part(leave_out_hidden_checks(result, tell), part)
    hidden_points = {
        e.name: round(e.worth - shown.worth, 4) for e, shown in zip(whole.exercises, result.exercises, strict=True)
    }
    if result.notebooks:
        by_exercise, others = group_stock_cells(notebook, whole.exercises)
        cells = {name: [render_cell(cell) for cell in group] for name, group in by_exercise.items()}
    else:
        cells, others = {e.name: render_student_cells(notebook, e) for e in result.exercises}, []
    shows_all = tell == "all"  # a quiz's key, or another answer, would reveal the rest
    values = {
        "checks": build_student_view(whole.exercises, tell),
        "cells": cells,
        "other_cells": [render_cell(cell) for cell in others],
        "questions": {e.name: render_question(notebook, e) for e in result.exercises if e.by_hand},
        "quizzes": {e.name: find_quiz(notebook, e.name) if shows_all else () for e in result.exercises},
        "letters": {e.name: read_ticks(notebook, e.name) for e in result.exercises},
        "alternatives": {e.name: find_another_way(notebook, e) if shows_all else None for e in result.exercises},
        "own_process": find_own_process_names(whole.exercises),
        "blank": {e.name for e in result.exercises if is_blank(notebook, e)},
        "tell": tell,
        "hidden_points": hidden_points,
        "solutions": solutions,
        "attempts": attempts,
        "excused": EXCUSED,
        "duration": format_duration,
        "notes": describe_notes(result.notes, len(result.notebooks)),
    }
    return render(
        "feedback.html.j2", result=result, matrices=_render_matrices, hints=_render_hints, prose=render_prose, **values
    )


def read_released_solutions(course: Path, lab: str, term: Term) -> dict[str, str]:
    """Return the worked solutions by exercise; none before the time that term.toml sets for them.

    They're read from source/, since the notebooks in solutions/ don't say which cell answers which exercise.
    """
    since = term.lab(lab).solutions
    path = course / "source" / lab / f"{lab}.ipynb"
    if since is None or to_naive_utc(since) > get_utc_now() or not path.exists():
        return {}
    cells = ((read_facts(cell), strip_markers(cell.source)) for cell in read_notebook(path).cells)
    return {facts.exercise: text for facts, text in cells if facts and facts.kind in STUDENT_KINDS and text.strip()}


def _render_matrices(difference: Difference) -> Markup:
    """Draw the student's matrix and the expected one as shades."""
    return Markup(draw_side_by_side(difference))


def _render_hints(hints: tuple[str, ...]) -> Markup:
    """Render hints that open one by one."""
    return Markup(fold_hints(hints))


def render_question(notebook: Any, result: ExerciseResult) -> Markup:
    """Render what a question in words asks: the text before its answer."""
    before = None
    for cell in notebook.cells:
        if get_cell_name(cell) == make_cell_name(Kind.QUESTION, result.name):
            break
        before = cell if cell.cell_type == "markdown" and read_kind(cell) is Kind.PROSE else None
    return render_prose(before.source) if before is not None else Markup()


def is_blank(notebook: Any, result: ExerciseResult) -> bool:
    """Return whether the exercise is unchanged since it was handed out, and earned nothing."""
    cell, facts = _find_exercise_cell(notebook, result.name)
    return bool(facts and cell.source.strip() == facts.stub.strip() and not result.points)


def find_quiz(notebook: Any, exercise: str) -> tuple[QuizStatement, ...]:
    """Return the statements of the quiz that this exercise is; empty if the student didn't try it or it's no quiz."""
    cell, facts = _find_exercise_cell(notebook, exercise)
    return facts.quiz if facts and cell.source.strip() != facts.stub.strip() else ()


def read_ticks(notebook: Any, exercise: str) -> dict[str, str] | None:
    """Return the letters in the quiz's cell, by question; None if they can't be read."""
    cell, _ = _find_exercise_cell(notebook, exercise)
    return {question: letters.lower() for question, letters in LETTERS.findall(cell.source if cell else "")} or None


def find_another_way(notebook: Any, result: ExerciseResult) -> AnotherWay | None:
    """Return another right answer, if the student earned all points of the exercise."""
    _, facts = _find_exercise_cell(notebook, result.name)
    return facts.another if facts and result.points is not None and result.points >= result.worth else None


def _find_exercise_cell(notebook: Any, exercise: str) -> tuple[Any, Facts | None]:
    """Return the exercise's cell and its metadata, or two times None."""
    for cell in notebook.cells:
        facts = read_facts(cell)
        if facts and facts.kind is Kind.EXERCISE and facts.exercise == exercise:
            return cell, facts
    return None, None


def render_student_cells(notebook: Any, exercise: ExerciseResult) -> list[ShownCell]:
    """Render the exercise's or question's cell, and the cells that the student added after it."""
    name = make_cell_name(Kind.QUESTION if exercise.by_hand else Kind.EXERCISE, exercise.name)
    indices = [index for index, cell in enumerate(notebook.cells) if get_cell_name(cell) == name]
    return [render_cell(notebook.cells[i]) for index in indices for i in find_lab_answer(notebook.cells, index)]


def render_cell(cell: Any) -> ShownCell:
    """Render a student's cell, bounded in size and safe to show in a page."""
    shown = ShownCell(
        cell.source, render_prose(cell.source, cell.get("attachments")) if cell.cell_type == "markdown" else None
    )
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            shown.text += output.text
        elif output.output_type == "error":
            shown.text += f"{output.ename}: {output.evalue}\n"
        else:
            picture, drawing = output.data.get("image/png"), output.data.get("image/svg+xml")
            area = count_safe_pixels(drawing, MAX_PIXELS) if isinstance(drawing, str) else None
            if area is not None and reserve_pixels(area):
                encoded = base64.b64encode(drawing.encode()).decode()
                shown.pictures.append((f"data:image/svg+xml;base64,{encoded}", str(output.data.get("text/plain", ""))))
            elif isinstance(picture, str):
                size = count_pixels(picture)
                if size is not None and size <= MAX_PIXELS and reserve_pixels(size):
                    shown.pictures.append((f"data:image/png;base64,{''.join(picture.split())}", ""))
                else:
                    shown.text += f"(a picture {'' if size is None else f'of {size:,} pixels '}is left out)\n"
            else:
                shown.text += str(output.data.get("text/plain", "")) + "\n"
    if len(shown.text) > MAX_TEXT:
        shown.text = shown.text[:MAX_TEXT] + "\n(cut off here)"
    return shown
