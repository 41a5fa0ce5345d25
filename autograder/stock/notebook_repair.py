"""Repair of a submission of a stock assignment, by the rules of nbgrader's preprocessors.

It follows DeduplicateIds and OverwriteCells, with add_missing_cells: the last copy of a cell counts, and locked cells
and tests are restored, including deleted ones. What a submission says about points and locks is ignored: its cells only
say which course cells they are, and cell_matching.py identifies those that don't.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from nbformat import NotebookNode

from autograder.intake.cell_origin import get_shown_name, mark_to_be_read, record_origin, shorten_first_line
from autograder.intake.claims import read_claims
from autograder.intake.repair_notes import NOTES_ID, RepairLog, add_notes
from autograder.intake.submitted_cells import create_cell, create_notebook
from autograder.model.nbgrader_cells import has_nbgrader_metadata, read_grade_id, write_nbgrader_metadata
from autograder.model.notes import Note, NoteKind
from autograder.stock.cell_matching import match_cells
from autograder.stock.content import StockCell, StockNotebook

COUNTING = ("grade", "points", "solution", "task")  # not locked: nbgrader locks test cells whatever their metadata says
ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ADDED = "This cell (id:{}) was missing from the submission. It was added back by nbgrader.\n\n"


def repair_stock_notebook(submitted: NotebookNode, source: StockNotebook) -> tuple[NotebookNode, list[Note]]:
    """Return the notebook to grade, and notes on what was repaired.

    Args:
        submitted: What intake.notebook_reading.read_notebook() returned.
    """
    course_cells = {cell.id: cell for cell in source.cells}
    log = RepairLog(whole=list(submitted.metadata.get("notes", [])))
    cells = []
    for piece in match_cells(submitted, source, log):
        course_cell = course_cells.get(piece.identity)
        cell = _restore_cell(piece.cell, course_cell, log) if course_cell else _build_added_cell(piece.cell)
        text = course_cell.released if course_cell and course_cell.locked else piece.cell.source
        record_origin(cell, piece.number, text, piece.identity, piece.is_given)
        if piece.needs_reader:
            mark_to_be_read(cell)
        cells.append(cell)
    _add_missing(cells, source.cells, log)
    _number(cells)
    notebook = create_notebook(cells, NotebookNode(kernelspec=NotebookNode(source.kernelspec or PYTHON)))
    notes = [note.model_copy(update={"notebook": source.name}) for note in _list_notes(log, cells, course_cells)]
    return add_notes(notebook, notes), notes


def build_blank_notebook(source: StockNotebook, reason: str) -> tuple[NotebookNode, list[Note]]:
    """Build the notebook as nbgrader keeps it, to replace one that is missing or couldn't be read."""
    cells = [_build_course_cell(cell, cell.source) for cell in source.cells]
    _number(cells)
    notebook = create_notebook(cells, NotebookNode(kernelspec=NotebookNode(source.kernelspec or PYTHON)))
    notes = [Note(kind=NoteKind.REFUSED, words=reason, notebook=source.name)]
    return add_notes(notebook, notes), notes


def build_released_notebook(notebook: NotebookNode, source: StockNotebook) -> NotebookNode:
    """Return a repaired notebook as a file that cells can read, without outputs and hidden tests."""
    released = {cell.id: cell.released for cell in source.cells if cell.has_hidden_part}
    cells = []
    for cell in notebook.cells:
        if cell.get("id") != NOTES_ID:
            shown = NotebookNode({**cell, "source": released.get(read_grade_id(cell), cell.source)})
            if cell.cell_type == "code":
                shown.update(outputs=[], execution_count=None)
            cells.append(shown)
    return NotebookNode({**notebook, "cells": cells})


PYTHON = {"name": "python3", "display_name": "Python 3", "language": "python"}


def _restore_cell(cell: NotebookNode, course_cell: StockCell, log: RepairLog) -> NotebookNode:
    """Return the course's cell with the student's text, or with its own if it's locked. Log what differed."""
    settings = read_claims(cell).settings
    flags = course_cell.build_flags()
    if any(flags.get(name, False) != settings[name] for name in COUNTING if name in settings):
        log.settings.append(course_cell.id)
    if cell.cell_type != course_cell.cell_type:
        log.kinds.append(course_cell.id)
    text = cell.source
    if course_cell.locked:
        if text.strip() not in (course_cell.source.strip(), course_cell.released.strip()):
            log.changed.append(course_cell.id)
        text = course_cell.source
    restored = _build_course_cell(course_cell, text)
    if course_cell.cell_type == "markdown" and not course_cell.locked and cell.get("attachments"):
        restored.attachments = cell.attachments
    return restored


def _build_course_cell(course_cell: StockCell, text: str) -> NotebookNode:
    cell = create_cell(course_cell.cell_type, text)
    write_nbgrader_metadata(cell, course_cell.build_flags())
    if course_cell.attachments:
        cell.attachments = NotebookNode(course_cell.attachments)
    return cell


def _build_added_cell(cell: NotebookNode) -> NotebookNode:
    added = create_cell(cell.cell_type, cell.source)
    if cell.get("attachments"):
        added.attachments = cell.attachments
    return added


def _add_missing(cells: list[NotebookNode], course_cells: tuple[StockCell, ...], log: RepairLog) -> None:
    """Add missing graded cells after the course cell that precedes them, and tasks at the end, as nbgrader does.

    If that cell is missing too, a test goes before the next course cell: the answer may be anywhere before that.
    """
    places = {grade_id: cell for cell in cells if (grade_id := read_grade_id(cell))}
    for number, course_cell in enumerate(course_cells):
        if course_cell.id in places or not (course_cell.grade or course_cell.task):
            continue
        comment = "# " if course_cell.cell_type == "code" else ""
        added = (
            "" if course_cell.source.startswith("%%") else comment + ADDED.format(course_cell.id)
        )  # magics come first
        cell = _build_course_cell(course_cell, added + course_cell.source)
        preceding = [other.id for other in course_cells[:number] if not other.task]
        following = next((places[other.id] for other in course_cells[number + 1 :] if other.id in places), None)
        if course_cell.task:
            index = len(cells)
        elif not preceding:
            index = 0
        elif preceding[-1] in places:
            index = cells.index(places[preceding[-1]]) + 1
        else:
            index = cells.index(following) if following is not None else len(cells)
        cells.insert(index, cell)
        if not course_cell.task:
            places[course_cell.id] = cell
        log.deleted.append(course_cell.id)


def _number(cells: list[NotebookNode]) -> None:
    """Give cells ids that are the same in every run: nbgrader's names, or numbers."""
    used = {read_grade_id(cell) for cell in cells if has_nbgrader_metadata(cell)}
    free = (name for number in range(len(cells) + len(used)) if (name := f"cell-{number}") not in used)
    for cell in cells:
        grade_id = read_grade_id(cell)
        cell.id = grade_id if ID.fullmatch(grade_id) else next(free)


def _list_notes(log: RepairLog, cells: list[NotebookNode], course_cells: Mapping[str, StockCell]) -> list[Note]:
    """List the notes. They name cells in words that students recognise: a missing one by how it begins."""
    names = {name: get_shown_name(cell, name) for cell in cells if (name := read_grade_id(cell))}
    names |= {name: f"{name}, which begins `{shorten_first_line(course_cells[name].released)}`" for name in log.deleted}
    repeated, log.repeated = list(dict.fromkeys(log.repeated)), []
    if repeated:
        listed = "; ".join(names[name] for name in repeated)
        log.whole.append(f"Cells that appeared more than once were all run, and one of each counts: {listed}.")
    return log.build_notes(lambda name: names.get(name, name), "; ")
