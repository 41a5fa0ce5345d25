"""What notes call a lab's cells: exercises by name or title, the others and the student's own by how they begin."""

from __future__ import annotations

from collections.abc import Mapping

from nbformat import NotebookNode

from autograder.intake.cell_origin import shorten_first_line
from autograder.intake.submitted_cells import get_released_source
from autograder.model.course import CellKind
from autograder.model.metadata import is_named, make_cell_name, read_cell_metadata, split_cell_name


def describe_course_cell(name: str, course_cells: Mapping[str, NotebookNode]) -> str:
    """Return what a student calls this cell of the course, or of a submission to it.

    Args:
        name: The cell's name in the notebook.
        course_cells: The cells of the notebook, by name.
    """
    if not is_named(name):
        begin = shorten_first_line(get_released_source(course_cells[name]))
        return f"the cell that begins `{begin}`" if begin else "a blank cell"
    kind, exercise = split_cell_name(name)
    title = _find_title(exercise, course_cells)
    return {CellKind.CHECK: f"the check of {title}", CellKind.PREDICT: f"the prediction {title}"}.get(kind, title)


def _find_title(exercise: str, course_cells: Mapping[str, NotebookNode]) -> str:
    for kind in (CellKind.EXERCISE, CellKind.QUESTION):
        cell = course_cells.get(make_cell_name(kind, exercise))
        metadata = read_cell_metadata(cell) if cell else None
        if metadata and metadata.title:
            return metadata.title
    return exercise
