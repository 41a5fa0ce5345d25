"""What nbgrader says about a cell, in `metadata.nbgrader`. Only this file reads it, and nbgrader's own functions.

Importing nbgrader takes a second, so functions that need it import it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbformat import NotebookNode

KEY = "nbgrader"


def has_nbgrader_metadata(cell: NotebookNode) -> bool:
    """Return whether nbgrader says anything about this cell."""
    return KEY in cell.metadata


def read_nbgrader_metadata(cell: NotebookNode) -> Mapping[str, Any]:
    """Read all that nbgrader says about this cell; an empty mapping if that's nothing."""
    flags: Mapping[str, Any] | None = cell.metadata.get(KEY)
    return {} if flags is None else flags


def read_grade_id(cell: NotebookNode) -> str:
    """Read nbgrader's name of this cell; empty if it has none."""
    return str(read_nbgrader_metadata(cell).get("grade_id") or "")


def read_worth(cell: NotebookNode) -> float:
    """Read the points that a graded cell or a task is worth."""
    return float(read_nbgrader_metadata(cell)["points"])


def is_by_hand(cell_type: str, is_answer: bool, is_task: bool = False) -> bool:
    """Return whether a person marks a graded cell, as nbgrader decides it: a task, an answer, or words.

    Args:
        cell_type: Its type in Jupyter.
        is_answer: Whether students write it, so it's a solution as well as a graded cell.
        is_task: Whether it's a task, which students answer in other cells.
    """
    return is_task or is_answer or cell_type != "code"


def is_kept(cell: NotebookNode) -> bool:
    """Return whether nbgrader keeps this cell. A cell that was made ordinary again still has a name."""
    from nbgrader.utils import is_grade, is_locked, is_solution, is_task

    return bool(is_grade(cell) or is_solution(cell) or is_locked(cell) or is_task(cell))


def is_blank(cell: NotebookNode) -> bool:
    """Return whether the cell is unchanged since its release, by nbgrader's checksum."""
    from nbgrader.utils import compute_checksum

    return bool(read_nbgrader_metadata(cell).get("checksum") == compute_checksum(cell))


def write_nbgrader_metadata(cell: NotebookNode, flags: Mapping[str, Any]) -> None:
    cell.metadata[KEY] = NotebookNode(flags)


def write_checksum(cell: NotebookNode, checksum: str) -> None:
    """Write the checksum that nbgrader uses to recognise an unchanged answer."""
    cell.metadata[KEY]["checksum"] = checksum
