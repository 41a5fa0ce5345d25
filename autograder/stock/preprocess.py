"""Makes a submission of a stock assignment one that can be graded, by the rules of nbgrader's preprocessors.

It follows DeduplicateIds and OverwriteCells, with add_missing_cells: the last copy of a cell counts, and locked cells
and tests are restored as the course has them, deleted ones too. What a submission says about points and locks isn't
read: its cells only say which of the course's they are, and cell_match.py finds those that don't.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from nbformat import NotebookNode

from autograder.intake.cell_origin import get_shown_name, record_origin, set_waiting, shorten_first_line
from autograder.intake.notes import NOTES_ID, RepairLog, add_notes
from autograder.intake.submitted_cells import create_cell, create_notebook
from autograder.model.notes import Note, NoteKind
from autograder.stock.assignment import StockCell, StockNotebook
from autograder.stock.cell_match import match

COUNTING = ("grade", "points", "solution", "task")  # nbgrader locks test cells whatever their metadata says
ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ADDED = "This cell (id:{}) was missing from the submission. It was added back by nbgrader.\n\n"


def repair(submitted: NotebookNode, course: StockNotebook) -> tuple[NotebookNode, list[Note]]:
    """The notebook to grade, and what was put right.

    Args:
        submitted: What intake.read.read_notebook() returned.
    """
    known = {cell.id: cell for cell in course.cells}
    found = RepairLog(whole=list(submitted.metadata.get("notes", [])))
    cells = []
    for piece in match(submitted, course, found):
        own = known.get(piece.identity)
        cell = _put_back(piece.cell, own, found) if own else _build_added_cell(piece.cell)
        text = own.released if own and own.locked else piece.cell.source
        record_origin(cell, piece.number, text, piece.identity, piece.given)
        if piece.waits:
            set_waiting(cell)
        cells.append(cell)
    _add_missing(cells, course.cells, found)
    _number(cells)
    notebook = create_notebook(cells, NotebookNode(kernelspec=NotebookNode(course.kernelspec or PYTHON)))
    notes = [note.model_copy(update={"notebook": course.name}) for note in _list_notes(found, cells, known)]
    return add_notes(notebook, notes), notes


def build_blank(course: StockNotebook, reason: str) -> tuple[NotebookNode, list[Note]]:
    """The notebook as nbgrader keeps it, instead of one that was not handed in or could not be read."""
    cells = [_build_course_cell(cell, cell.source) for cell in course.cells]
    _number(cells)
    notebook = create_notebook(cells, NotebookNode(kernelspec=NotebookNode(course.kernelspec or PYTHON)))
    notes = [Note(kind=NoteKind.REFUSED, words=reason, notebook=course.name)]
    return add_notes(notebook, notes), notes


def build_released_notebook(notebook: NotebookNode, course: StockNotebook) -> NotebookNode:
    """A repaired notebook as a file beside others, which cells can read: without outputs and without hidden tests."""
    hiding = {cell.id: cell.released for cell in course.cells if cell.hides}
    cells = []
    for cell in notebook.cells:
        if cell.get("id") != NOTES_ID:
            shown = NotebookNode({**cell, "source": hiding.get(_get_name(cell), cell.source)})
            if cell.cell_type == "code":
                shown.update(outputs=[], execution_count=None)
            cells.append(shown)
    return NotebookNode({**notebook, "cells": cells})


PYTHON = {"name": "python3", "display_name": "Python 3", "language": "python"}


def _put_back(cell: NotebookNode, own: StockCell, found: RepairLog) -> NotebookNode:
    settings = cell.metadata["claims"]["settings"]
    flags = own.flags()
    if any(flags.get(name, False) != settings[name] for name in COUNTING if name in settings):
        found.settings.append(own.id)
    if cell.cell_type != own.cell_type:
        found.kinds.append(own.id)
    text = cell.source
    if own.locked:
        if text.strip() not in (own.source.strip(), own.released.strip()):
            found.changed.append(own.id)
        text = own.source
    kept = _build_course_cell(own, text)
    if own.cell_type == "markdown" and not own.locked and cell.get("attachments"):
        kept.attachments = cell.attachments
    return kept


def _build_course_cell(own: StockCell, text: str) -> NotebookNode:
    cell = create_cell(own.cell_type, text)
    cell.metadata["nbgrader"] = NotebookNode(own.flags())
    if own.attachments:
        cell.attachments = NotebookNode(own.attachments)
    return cell


def _build_added_cell(cell: NotebookNode) -> NotebookNode:
    kept = create_cell(cell.cell_type, cell.source)
    if cell.get("attachments"):
        kept.attachments = cell.attachments
    return kept


def _add_missing(cells: list[NotebookNode], own: tuple[StockCell, ...], found: RepairLog) -> None:
    """Add missing graded cells after the course's cell before them, and tasks at the end, as nbgrader does.

    If that cell is missing, too, a test goes before the course's next: the answer may be anywhere before that.
    """
    places = {_get_name(cell): cell for cell in cells if _get_name(cell)}
    for number, each in enumerate(own):
        if each.id in places or not (each.grade or each.task):
            continue
        comment = "# " if each.cell_type == "code" else ""
        added = "" if each.source.startswith("%%") else comment + ADDED.format(each.id)  # magics come first
        cell = _build_course_cell(each, added + each.source)
        before = [other.id for other in own[:number] if not other.task]
        after = next((places[other.id] for other in own[number + 1 :] if other.id in places), None)
        if each.task:
            at = len(cells)
        elif not before:
            at = 0
        elif before[-1] in places:
            at = cells.index(places[before[-1]]) + 1
        else:
            at = cells.index(after) if after is not None else len(cells)
        cells.insert(at, cell)
        if not each.task:
            places[each.id] = cell
        found.deleted.append(each.id)


def _get_name(cell: NotebookNode) -> str:
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


def _number(cells: list[NotebookNode]) -> None:
    """Give cells ids that are the same in every run: nbgrader's names, or numbers."""
    taken = {cell.metadata.nbgrader.grade_id for cell in cells if "nbgrader" in cell.metadata}
    free = (name for number in range(len(cells) + len(taken)) if (name := f"cell-{number}") not in taken)
    for cell in cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        cell.id = grade_id if ID.fullmatch(grade_id) else next(free)


def _list_notes(found: RepairLog, cells: list[NotebookNode], known: Mapping[str, StockCell]) -> list[Note]:
    """The notes, with cells named so that students find them: a missing one by how it begins."""
    names = {name: get_shown_name(cell, name) for cell in cells if (name := _get_name(cell))}
    names |= {name: f"{name}, which begins `{shorten_first_line(known[name].released)}`" for name in found.deleted}
    repeated, found.repeated = list(dict.fromkeys(found.repeated)), []
    if repeated:
        listed = "; ".join(names[name] for name in repeated)
        found.whole.append(f"Cells that were there more than once all ran, and one of each counts: {listed}.")
    return found.notes(lambda name: names.get(name, name), "; ")
