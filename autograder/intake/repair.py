"""Rebuilds a submission on the course's own notebook: the student's answers, and everything else from the course.

Course code comes back as the course wrote it, whatever a submission did to it; deleted cells come back; of copies one
is kept; cells that the student added stay after the cell they followed. Every repair is put into words.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nbformat import NotebookNode

from autograder.intake.decode import AGAIN, RefusedSubmission
from autograder.intake.match import match
from autograder.intake.notes import NOTES_ID, RepairLog, add_notes, read_notes
from autograder.intake.releases import Releases
from autograder.intake.submitted_cells import (
    SubmittedCell,
    build_released_cell,
    copy_json,
    create_cell,
    create_notebook,
    get_released_source,
    is_answer,
    is_prose,
    list_texts,
)
from autograder.model.metadata import collect_exercises, get_cell_name, is_named, refuse_unbuilt
from autograder.model.notes import Note, NoteKind

__all__ = ["NOTES_ID", "RepairedNotebook", "build_blank", "read_notes", "repair"]

NO_RELEASES = Releases()
MARKERS = ("### BEGIN SOLUTION", "### BEGIN HIDDEN TESTS")


@dataclass
class RepairedNotebook:
    """The notebook to grade, and what was put right in it."""

    notebook: NotebookNode
    notes: list[Note] = field(default_factory=list)


def repair(submitted: NotebookNode, course: NotebookNode, releases: Releases = NO_RELEASES) -> RepairedNotebook:
    """submitted: as read_submission gives it. course: the lab's source notebook, with its hidden tests. releases: what
    students may have fetched before.

    Raises Refused where the submission is the notebook of another lab, GradlabError where the course's was not built.
    """
    refuse_unbuilt(course)
    own = {get_cell_name(cell): cell for cell in course.cells}
    found = RepairLog(whole=list(submitted.metadata.get("notes", [])))
    pieces = match(submitted, own, found, releases)
    _refuse_another_lab(submitted, pieces, own)
    answers, added = _sort(pieces, own, found)
    cells = [_build_added_cell(piece) for piece in added.get("", [])]
    present = {piece.identity for piece in pieces}
    for identity, cell in own.items():
        if identity in answers:
            cells.append(_insert_answer(cell, answers[identity]))
        elif not is_answer(cell):
            cells.append(copy_json(cell))
            if identity not in present:
                newer = releases.is_newer(list_texts(cell)[-1])
                (found.outdated if newer else found.deleted).append(identity)
        elif not is_prose(cell):
            cells.append(build_released_cell(cell))
            found.missing.append(identity)
        cells += [_build_added_cell(piece) for piece in added.get(identity, [])]
    _number(cells, {cell.id for cell in course.cells})
    _note_whole_notebook(submitted, answers, own, found)
    notebook = create_notebook(cells, copy_json(course.metadata))
    notes = found.notes()
    return RepairedNotebook(add_notes(notebook, notes), notes)


def build_blank(course: NotebookNode, reason: str) -> RepairedNotebook:
    """The empty notebook, instead of a submission that could not be read."""
    notes = [Note(kind=NoteKind.REFUSED, words=reason)]
    cells = [build_released_cell(c) if is_answer(c) else copy_json(c) for c in course.cells]
    notebook = create_notebook(cells, copy_json(course.metadata))
    return RepairedNotebook(add_notes(notebook, notes), notes)


def _refuse_another_lab(submitted: NotebookNode, pieces: list[SubmittedCell], own: dict[str, NotebookNode]) -> None:
    """Where more of its exercises and checks are another lab's than this one's; a quiz has the same name in each."""
    mine = {piece.identity for piece in pieces if is_named(piece.identity)}
    claims = [cell.metadata["claims"]["grade_id"] for cell in submitted.cells]
    foreign = list(dict.fromkeys(claim for claim in claims if is_named(claim) and claim not in own))
    if len(foreign) > len(mine):
        raise RefusedSubmission(
            f"It is the notebook of another lab: it holds {', '.join(foreign[:3])}. Hand in this lab's."
        )


def _sort(
    pieces: list[SubmittedCell], own: dict[str, NotebookNode], found: RepairLog
) -> tuple[dict[str, SubmittedCell], dict[str, list[SubmittedCell]]]:
    """(identity -> the student's version of the cell, identity -> the cells that the student added after it)."""
    versions: dict[str, list[SubmittedCell]] = {}
    added: dict[str, list[SubmittedCell]] = {}
    place = ""
    for piece in pieces:
        if not piece.identity:
            added.setdefault(place, []).append(piece)
            continue
        place = piece.identity
        if piece.own:
            versions.setdefault(place, []).append(piece)
    answers = {}
    for identity, all_versions in versions.items():
        answers[identity], later = _select_distinct(all_versions, own[identity])
        added.setdefault(identity, [])[:0] = later
        if not is_prose(own[identity]):
            found.repeated += [identity] * bool(later)
            found.copies += [identity] * (len(all_versions) > 1 + len(later))
            found.kinds += [identity] * (answers[identity].kind != own[identity].cell_type)
    return answers, added


def _select_distinct(versions: list[SubmittedCell], cell: NotebookNode) -> tuple[SubmittedCell, list[SubmittedCell]]:
    """(the first version, the later ones) of a cell, leaving out copies and untouched stubs."""
    stub = get_released_source(cell).strip()
    texts = {piece.text.strip(): piece for piece in reversed(versions) if piece.text.strip() != stub}
    written = [piece for piece in versions if any(piece is kept for kept in texts.values())]
    return (written[0], written[1:]) if written else (versions[0], [])


def _note_whole_notebook(
    submitted: NotebookNode, answers: dict[str, SubmittedCell], own: dict[str, NotebookNode], found: RepairLog
) -> None:
    if any(marker in cell.source for cell in submitted.cells for marker in MARKERS):
        found.whole.append("The notebook holds marks of the instructor's version (### BEGIN SOLUTION or HIDDEN TESTS).")
    exercises = collect_exercises(own.values())
    if exercises and all(
        identity in answers and answers[identity].text.strip() == get_released_source(own[identity]).strip()
        for identity in exercises
    ):
        found.whole.append(f"Every exercise is as it was handed out. Was your work saved? If not: {AGAIN}")


def _number(cells: list[NotebookNode], taken: set[str]) -> None:
    """Give added cells ids that are the same in every run, and no course cell's."""
    free = (name for number in range(len(cells) + len(taken)) if (name := f"added-{number}") not in taken)
    for cell in cells:
        if cell.id not in taken:
            cell.id = next(free)


def _insert_answer(cell: NotebookNode, answer: SubmittedCell) -> NotebookNode:
    answered: NotebookNode = copy_json(cell)
    answered.source = answer.text
    if answer.pictures and cell.cell_type == "markdown":
        answered.attachments = answer.pictures
    return answered


def _build_added_cell(piece: SubmittedCell) -> NotebookNode:
    cell = create_cell(piece.kind, piece.text)
    if piece.pictures:
        cell.attachments = piece.pictures
    return cell
