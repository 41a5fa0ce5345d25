"""Submitted cells as the intake has read them, with what they claim to be."""

from __future__ import annotations

from nbformat import NotebookNode

from autograder.intake.claims import Claims, write_claims
from autograder.intake.submitted_cells import create_cell, create_notebook


def claim(
    text: str, grade_id: str = "", kind: str = "code", id: str = "", **settings: bool | int | float
) -> NotebookNode:
    """A submitted cell. grade_id: nbgrader's name, which a student may have deleted. settings: nbgrader's flags."""
    cell = create_cell(kind, text)
    write_claims(cell, Claims(grade_id, id or cell.id, settings, has_tags=False, was_mended=False))
    return cell


def gather(*cells: NotebookNode) -> NotebookNode:
    """A submission of these cells."""
    return create_notebook(list(cells), NotebookNode())
