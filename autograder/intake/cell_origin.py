"""The origin of a submitted cell, kept in its metadata for grading, pages and the desk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nbformat import NotebookNode
from nbgrader.utils import is_grade, is_solution, is_task

from autograder.base.digest import digest
from autograder.base.text import replace_controls
from autograder.intake.repair_notes import NOTES_ID
from autograder.model.course import CellKind
from autograder.model.metadata import KEY as COURSE_KEY
from autograder.model.nbgrader_cells import has_nbgrader_metadata

KEY = "handed_in"
MAX_BEGIN = 40  # characters of a cell's first line


def record_origin(cell: NotebookNode, number: int, text: str, grade_id: str = "", given: bool = False) -> None:
    """Record what is known of a cell after matching.

    Args:
        number: The cell's number in the notebook as submitted, from 1.
        text: The cell's text as the student has it.
        given: Whether it's the course's own.
    """
    cell.metadata[KEY] = {"name": _format_name(number, text, grade_id), "number": number, "given": given}


def mark_to_be_read(cell: NotebookNode) -> None:
    """Leave an unchanged answer for manual marking anyway, because the student wrote something next to it."""
    cell.metadata.setdefault(KEY, {})["waits"] = True


def is_to_be_read(cell: NotebookNode) -> bool:
    return bool(_get_origin(cell).get("waits"))


def is_students(cell: NotebookNode) -> bool:
    """Return whether the student added this cell, or changed a course cell that nbgrader doesn't keep.

    If another program graded the notebook, that's unknown, and the cell counts as the student's.
    """
    return not has_nbgrader_metadata(cell) and not _get_origin(cell).get("given") and cell.get("id") != NOTES_ID


def is_for_trying(cell: Mapping[str, Any]) -> bool:
    """Return whether the student added this cell, or the course gives it to try things in."""
    metadata = cell.get("metadata", {})
    kind = metadata.get(COURSE_KEY, {}).get("kind", CellKind.SCRATCH)
    return "nbgrader" not in metadata and kind == CellKind.SCRATCH


def find_stock_answer(cells: Sequence[Any], place: int) -> list[int]:
    """Return the indices of an answer that a person reads, and of the student's cells next to it.

    Cells that follow another answer belong to that one. A task is answered after its cell.
    """
    first, last = place, place
    while first and is_students(cells[first - 1]):
        first -= 1
    if first and (is_task(cells[first - 1]) or (is_solution(cells[first - 1]) and is_grade(cells[first - 1]))):
        first = place
    while last + 1 < len(cells) and is_students(cells[last + 1]):
        last += 1
    return list(range(place + 1, last + 1)) if is_task(cells[place]) else list(range(first, last + 1))


def find_lab_answer(cells: Sequence[Any], place: int) -> list[int]:
    """Return the indices of a lab's answer, and of the code that the student added before the course's next cell."""
    following = range(place + 1, len(cells))
    last = next(
        (n for n in following if COURSE_KEY in cells[n].metadata or has_nbgrader_metadata(cells[n])), len(cells)
    )
    return [place, *(n for n in range(place + 1, last) if cells[n].cell_type == "code")]


def digest_answer(cells: Sequence[Any]) -> str:
    """Return a digest of everything that a person reads of an answer: text, pictures and neighboring cells.

    For a single text it's that text's digest, as in the results of earlier versions.
    """
    parts = [cell.source for cell in cells]
    pictures = [json.dumps(cell.attachments, sort_keys=True) for cell in cells if cell.get("attachments")]
    return digest(*parts, *pictures)[:16]


def get_shown_name(cell: NotebookNode, name: str) -> str:
    """Return a name that helps the student find this cell.

    Args:
        name: nbgrader's name, used if the cell was missing from the submission.
    """
    return str(_get_origin(cell).get("name") or f"{name}, which was missing from your notebook")


def get_short_name(cell: NotebookNode, name: str) -> str:
    """Return nbgrader's name of the cell, or its number, without how it begins."""
    return name if has_nbgrader_metadata(cell) else f"your cell {_get_origin(cell).get('number', '')}".strip()


def shorten_first_line(text: str) -> str:
    """Return the first line that isn't blank, shortened; empty if there is none."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "").replace("`", "'")
    line = replace_controls(line)
    return line if len(line) <= MAX_BEGIN else line[:MAX_BEGIN].rstrip() + "…"


def _format_name(number: int, text: str, grade_id: str) -> str:
    begin = shorten_first_line(text)
    parts = [grade_id, f"your cell {number}", f"which begins `{begin}`" if begin else "which is blank"]
    return ", ".join(filter(None, parts))


def _get_origin(cell: NotebookNode) -> dict[str, Any]:
    origin = cell.metadata.get(KEY)
    return origin if isinstance(origin, dict) else {}
