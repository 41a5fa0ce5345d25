"""Makes a submission of a plain assignment one that can be graded, by the rules of nbgrader's preprocessors.

As DeduplicateIds and OverwriteCells do, with add_missing_cells: of a cell that stands twice the last one counts, locked
cells and tests come back as the course has them, deleted ones too. What a submission says of points and locks is not
read: its cells say only which of the course's they are.
"""

from __future__ import annotations

import re

from nbformat import NotebookNode

from autograder.intake.notes import COUNTS_AS_EMPTY, RepairLog, with_notes
from autograder.intake.submitted_cells import new_cell, new_notebook
from autograder.plain.assignment import PlainCell, PlainNotebook

COUNTING = ("grade", "points", "solution", "task")  # nbgrader locks test cells whatever they say of locks
ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ADDED = "This cell (id:{}) was missing from the submission. It was added back by nbgrader.\n\n"


def repair(submitted: NotebookNode, course: PlainNotebook) -> tuple[NotebookNode, list[str]]:
    """(the notebook to grade, what was put right). submitted: as intake.read.read_notebook gives it."""
    known = {cell.id: cell for cell in course.cells}
    found = RepairLog(whole=list(submitted.metadata.get("notes", [])))
    claims = [str(cell.metadata["claims"]["grade_id"]) for cell in submitted.cells]
    last = {claim: place for place, claim in enumerate(claims) if claim in known}
    cells = []
    for place, (cell, claim) in enumerate(zip(submitted.cells, claims, strict=True)):
        if last.get(claim) == place:
            cells.append(_put_back(cell, known[claim], found))
        else:
            if claim in known:
                found.repeated.append(claim)
            cells.append(_plain(cell))
    _add_missing(cells, course.cells, set(last), found)
    _number(cells)
    notebook = new_notebook(cells, NotebookNode(kernelspec=NotebookNode(course.kernelspec or PYTHON)))
    notes = _notes(found)
    return with_notes(notebook, notes), notes


def blank(course: PlainNotebook, reason: str) -> tuple[NotebookNode, list[str]]:
    """The notebook as nbgrader keeps it, in place of one that was not handed in or could not be read."""
    cells = [_course_cell(cell, cell.source) for cell in course.cells]
    _number(cells)
    notebook = new_notebook(cells, NotebookNode(kernelspec=NotebookNode(course.kernelspec or PYTHON)))
    notes = [f"{COUNTS_AS_EMPTY} {reason}"]
    return with_notes(notebook, notes), notes


PYTHON = {"name": "python3", "display_name": "Python 3", "language": "python"}


def _put_back(cell: NotebookNode, own: PlainCell, found: RepairLog) -> NotebookNode:
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
    kept = _course_cell(own, text)
    if own.cell_type == "markdown" and cell.get("attachments"):
        kept.attachments = cell.attachments
    return kept


def _course_cell(own: PlainCell, text: str) -> NotebookNode:
    cell = new_cell(own.cell_type, text)
    cell.metadata["nbgrader"] = NotebookNode(own.flags())
    return cell


def _plain(cell: NotebookNode) -> NotebookNode:
    kept = new_cell(cell.cell_type, cell.source)
    if cell.get("attachments"):
        kept.attachments = cell.attachments
    return kept


def _add_missing(cells: list[NotebookNode], own: tuple[PlainCell, ...], there: set[str], found: RepairLog) -> None:
    """Graded cells behind the one of the course's before them, and tasks at the end, as nbgrader does."""
    place_of = {cell.metadata.nbgrader.grade_id: cell for cell in cells if "nbgrader" in cell.metadata}
    before: NotebookNode | None = None
    for each in own:
        if each.id in there:
            before = place_of[each.id]
        elif each.grade or each.task:
            comment = "# " if each.cell_type == "code" else ""
            cell = _course_cell(each, comment + ADDED.format(each.id) + each.source)
            at = next((n + 1 for n, other in enumerate(cells) if other is before), 0)
            cells.insert(len(cells) if each.task else at, cell)
            found.deleted.append(each.id)
            before = before if each.task else cell


def _number(cells: list[NotebookNode]) -> None:
    """Ids that are the same in every run: nbgrader's, and numbers for cells that have none."""
    taken = {cell.metadata.nbgrader.grade_id for cell in cells if "nbgrader" in cell.metadata}
    free = (name for number in range(len(cells) + len(taken)) if (name := f"cell-{number}") not in taken)
    for cell in cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        cell.id = grade_id if ID.fullmatch(grade_id) else next(free)


def _notes(found: RepairLog) -> list[str]:
    repeated, found.repeated = list(dict.fromkeys(found.repeated)), []
    if repeated:
        found.whole.append(f"Cells that stood more than once all ran, and the last one counts: {', '.join(repeated)}.")
    return found.notes()
