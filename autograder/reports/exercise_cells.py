"""What a notebook says about an exercise or question: what it asks, its quiz, the student's letters, another answer."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from markupsafe import Markup

from autograder.gradebook.submission_result import GradedCellResult
from autograder.model.course import AnotherWay, CellKind
from autograder.model.metadata import CellMetadata, get_cell_name, make_cell_name, read_cell_metadata, read_kind
from autograder.model.quiz_statement import QuizStatement
from autograder.rendering.prose import render_prose
from labkit.quiz_source import parse_letters

WRITE_HERE = re.compile(r"^\*[^*\n]+\*$", re.MULTILINE)  # says where to write, in the words of any version
WRITTEN = (CellKind.EXERCISE, CellKind.QUESTION)


def render_question(notebook: Any, result: GradedCellResult) -> Markup:
    """Render what a question in words asks: the text that its cell had at first, or the one before its answer."""
    _, metadata = _find_exercise_cell(notebook, result.name, (CellKind.QUESTION,))
    if metadata and (own := WRITE_HERE.sub("", metadata.stub).strip()):
        return render_prose(own)
    before = None
    for cell in notebook.cells:
        if get_cell_name(cell) == make_cell_name(CellKind.QUESTION, result.name):
            break
        before = cell if cell.cell_type == "markdown" and read_kind(cell) is CellKind.PROSE else None
    return render_prose(before.source) if before is not None else Markup()


def find_exercise_title(notebook: Any, exercise: str) -> str:
    """Return what students call this exercise or question: its title in the notebook, else its name."""
    _, metadata = _find_exercise_cell(notebook, exercise, WRITTEN)
    return metadata.title if metadata and metadata.title else exercise


def is_blank(notebook: Any, result: GradedCellResult) -> bool:
    """Return whether the exercise is unchanged since it was handed out, and earned nothing."""
    cell, metadata = _find_exercise_cell(notebook, result.name, WRITTEN)
    return bool(metadata and cell.source.strip() == metadata.stub.strip() and not result.points)


def find_quiz(notebook: Any, exercise: str) -> tuple[QuizStatement, ...]:
    """Return the statements of the quiz that this exercise is; empty if the student didn't try it or it's no quiz."""
    cell, metadata = _find_exercise_cell(notebook, exercise)
    return metadata.quiz if metadata and cell.source.strip() != metadata.stub.strip() else ()


def read_letters(notebook: Any, exercise: str) -> dict[str, str] | None:
    """Return the letters in the quiz's cell, by question; None if they can't be read."""
    cell, _ = _find_exercise_cell(notebook, exercise)
    return parse_letters(cell.source) if cell else None


def find_another_way(notebook: Any, result: GradedCellResult) -> AnotherWay | None:
    """Return another right answer, if the student earned all points of the exercise."""
    _, metadata = _find_exercise_cell(notebook, result.name)
    return metadata.another if metadata and result.is_full else None


def _find_exercise_cell(
    notebook: Any, exercise: str, kinds: Collection[CellKind] = (CellKind.EXERCISE,)
) -> tuple[Any, CellMetadata | None]:
    """Return the cell of these kinds that an exercise or question is written in, and its metadata, or (None, None)."""
    for cell in notebook.cells:
        metadata = read_cell_metadata(cell)
        if metadata and metadata.kind in kinds and metadata.exercise == exercise:
            return cell, metadata
    return None, None
