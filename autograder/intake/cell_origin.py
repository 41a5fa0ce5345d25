"""What is known of a submitted cell after matching, in its metadata: as grading, pages and the desk read it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from nbformat import NotebookNode
from nbgrader.utils import is_grade, is_solution, is_task

from autograder.base.digest import digest
from autograder.base.text import replace_controls
from autograder.intake.notes import NOTES_ID

KEY = "handed_in"
MAX_BEGIN = 40  # characters of a cell's first line


def record_origin(cell: NotebookNode, number: int, text: str, grade_id: str = "", given: bool = False) -> None:
    """number: in the notebook as it was handed in, from 1. text: as the student has it. given: the course's own."""
    cell.metadata[KEY] = {"name": _format_name(number, text, grade_id), "number": number, "given": given}


def set_waiting(cell: NotebookNode) -> None:
    """A person is to read this answer, though it is as it was handed out: there is work of the student's beside it."""
    cell.metadata.setdefault(KEY, {})["waits"] = True


def is_waiting(cell: NotebookNode) -> bool:
    return bool(_get_origin(cell).get("waits"))


def is_own(cell: NotebookNode) -> bool:
    """Whether the student added this cell, or changed one of the course's that nbgrader doesn't keep.

    Nobody knows where another program graded the notebook: then it may be.
    """
    return "nbgrader" not in cell.metadata and not _get_origin(cell).get("given") and cell.get("id") != NOTES_ID


def find_stock_answer(cells: Sequence[Any], place: int) -> list[int]:
    """Where the answer is that a person reads, and what the student wrote beside it, up to the course's next cells.

    What follows another answer belongs to that one. A task is answered after its cell.
    """
    first, last = place, place
    while first and is_own(cells[first - 1]):
        first -= 1
    if first and (is_task(cells[first - 1]) or (is_solution(cells[first - 1]) and is_grade(cells[first - 1]))):
        first = place
    while last + 1 < len(cells) and is_own(cells[last + 1]):
        last += 1
    return list(range(place + 1, last + 1)) if is_task(cells[place]) else list(range(first, last + 1))


def find_lab_answer(cells: Sequence[Any], place: int) -> list[int]:
    """Where the answer of a lab is, and the code that the student added after it."""
    last = next((n for n in range(place + 1, len(cells)) if "nbgrader" in cells[n].metadata), len(cells))
    return [place, *(n for n in range(place + 1, last) if cells[n].cell_type == "code")]


def digest_answer(cells: Sequence[Any]) -> str:
    """A digest of all that a person reads of an answer: its text, its pictures and the cells beside it.

    Of a text alone it is the text's, as results of earlier versions have it.
    """
    parts = [cell.source for cell in cells]
    pictures = [json.dumps(cell.attachments, sort_keys=True) for cell in cells if cell.get("attachments")]
    return digest(*parts, *pictures)[:16]


def get_shown_name(cell: NotebookNode, name: str) -> str:
    """What a student finds this cell by. name: nbgrader's, of one that was missing in the submission."""
    return str(_get_origin(cell).get("name") or f"{name}, which was missing in your notebook")


def get_short_name(cell: NotebookNode, name: str) -> str:
    """The same, without how the cell begins, of one that has no name of nbgrader's."""
    return name if "nbgrader" in cell.metadata else f"your cell {_get_origin(cell).get('number', '')}".strip()


def shorten_first_line(text: str) -> str:
    """The first line that isn't blank, cut off; empty if there isn't one."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "").replace("`", "'")
    line = replace_controls(line)
    return line if len(line) <= MAX_BEGIN else line[:MAX_BEGIN].rstrip() + "…"


def _format_name(number: int, text: str, grade_id: str) -> str:
    own, begin = f"your cell {number}", shorten_first_line(text)
    found = [grade_id, own, f"which begins `{begin}`" if begin else "which is blank"]
    return ", ".join(filter(None, found))


def _get_origin(cell: NotebookNode) -> dict[str, Any]:
    known = cell.metadata.get(KEY)
    return known if isinstance(known, dict) else {}
