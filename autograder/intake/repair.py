"""Rebuilds a submission from the course's own notebook, with the student's answers in it.

Course code is restored, whatever a submission did to it. So are deleted cells. Of several copies one is kept, and cells
that the student added stay after the cell they followed. Every repair is noted in words.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nbformat import NotebookNode

from autograder.intake.cell_matching import match_cells
from autograder.intake.claims import read_claims
from autograder.intake.course_cell_names import describe_course_cell
from autograder.intake.file_decoding import AGAIN, SubmissionRefusedError
from autograder.intake.releases import Releases
from autograder.intake.repair_notes import NOTES_ID, RepairLog, add_notes, read_notes
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

__all__ = ["NOTES_ID", "RepairedNotebook", "build_blank_notebook", "read_notes", "repair_lab_notebook"]

NO_RELEASES = Releases()
MARKERS = ("### BEGIN SOLUTION", "### BEGIN HIDDEN TESTS")


@dataclass
class RepairedNotebook:
    """The notebook to grade, and notes on what was repaired."""

    notebook: NotebookNode
    notes: list[Note] = field(default_factory=list)


def repair_lab_notebook(
    submitted: NotebookNode, source_notebook: NotebookNode, releases: Releases = NO_RELEASES
) -> RepairedNotebook:
    """Rebuild a submission from the course's notebook.

    Args:
        submitted: What read_submission() returned.
        source_notebook: The lab's source notebook, with its hidden tests.
        releases: What students may have fetched earlier.

    Raises:
        SubmissionRefusedError: If the submission is the notebook of another lab.
        GradlabError: If the course's notebook wasn't built by Gradlab.
    """
    refuse_unbuilt(source_notebook)
    course_cells = {get_cell_name(cell): cell for cell in source_notebook.cells}
    log = RepairLog(whole=list(submitted.metadata.get("notes", [])))
    pieces = match_cells(submitted, course_cells, log, releases)
    _refuse_another_lab(submitted, pieces, course_cells)
    answers, added = _split_answers(pieces, course_cells, log)
    cells = [_build_added_cell(piece) for piece in added.get("", [])]
    present = {piece.identity for piece in pieces}
    for identity, cell in course_cells.items():
        if identity in answers:
            cells.append(_insert_answer(cell, answers[identity]))
        elif not is_answer(cell):
            cells.append(copy_json(cell))
            if identity not in present:
                newer = releases.is_newer(list_texts(cell)[-1])
                (log.outdated if newer else log.deleted).append(identity)
        elif not is_prose(cell):
            cells.append(build_released_cell(cell))
            log.missing.append(identity)
        cells += [_build_added_cell(piece) for piece in added.get(identity, [])]
    _number(cells, {cell.id for cell in source_notebook.cells})
    _note_whole_notebook(submitted, answers, course_cells, log)
    notebook = create_notebook(cells, copy_json(source_notebook.metadata))
    notes = log.build_notes(lambda name: describe_course_cell(name, course_cells))
    return RepairedNotebook(add_notes(notebook, notes), notes)


def build_blank_notebook(source_notebook: NotebookNode, reason: str) -> RepairedNotebook:
    """Build the unwritten notebook that replaces a submission which couldn't be read."""
    notes = [Note(kind=NoteKind.REFUSED, words=reason)]
    cells = [build_released_cell(c) if is_answer(c) else copy_json(c) for c in source_notebook.cells]
    notebook = create_notebook(cells, copy_json(source_notebook.metadata))
    return RepairedNotebook(add_notes(notebook, notes), notes)


def _refuse_another_lab(
    submitted: NotebookNode, pieces: list[SubmittedCell], course_cells: dict[str, NotebookNode]
) -> None:
    """Refuse a notebook with more exercises and checks of another lab than of this one. Quizzes share their names."""
    recognized = {piece.identity for piece in pieces if is_named(piece.identity)}
    claims = [read_claims(cell).grade_id for cell in submitted.cells]
    foreign = list(dict.fromkeys(claim for claim in claims if is_named(claim) and claim not in course_cells))
    if len(foreign) > len(recognized):
        raise SubmissionRefusedError(
            f"It is the notebook of another lab: it contains {', '.join(foreign[:3])}. Submit this lab's notebook."
        )


def _split_answers(
    pieces: list[SubmittedCell], course_cells: dict[str, NotebookNode], log: RepairLog
) -> tuple[dict[str, SubmittedCell], dict[str, list[SubmittedCell]]]:
    """Return the student's version of each cell, and the cells that the student added after it, both by identity."""
    versions: dict[str, list[SubmittedCell]] = {}
    added: dict[str, list[SubmittedCell]] = {}
    place = ""
    for piece in pieces:
        if not piece.identity:
            added.setdefault(place, []).append(piece)
            continue
        place = piece.identity
        if piece.is_students:
            versions.setdefault(place, []).append(piece)
    answers = {}
    for identity, all_versions in versions.items():
        answers[identity], later = _select_distinct(all_versions, course_cells[identity])
        added.setdefault(identity, [])[:0] = later
        if not is_prose(course_cells[identity]):
            log.repeated += [identity] * bool(later)
            log.copies += [identity] * (len(all_versions) > 1 + len(later))
            log.kinds += [identity] * (answers[identity].kind != course_cells[identity].cell_type)
    return answers, added


def _select_distinct(versions: list[SubmittedCell], cell: NotebookNode) -> tuple[SubmittedCell, list[SubmittedCell]]:
    """Return the first and the later versions of a cell, without untouched stubs, and of equal ones only the last."""
    stub = get_released_source(cell).strip()
    texts = {piece.text.strip(): piece for piece in versions if piece.text.strip() != stub}
    written = [piece for piece in versions if any(piece is kept for kept in texts.values())]
    return (written[0], written[1:]) if written else (versions[0], [])


def _note_whole_notebook(
    submitted: NotebookNode, answers: dict[str, SubmittedCell], course_cells: dict[str, NotebookNode], log: RepairLog
) -> None:
    if any(marker in cell.source for cell in submitted.cells for marker in MARKERS):
        log.whole.append(
            "The notebook contains markers of the instructor's version (### BEGIN SOLUTION or HIDDEN TESTS)."
        )
    exercises = collect_exercises(course_cells.values())
    if exercises and all(
        identity in answers and answers[identity].text.strip() == get_released_source(course_cells[identity]).strip()
        for identity in exercises
    ):
        log.whole.append(f"No exercise has been changed. Was your work saved? If not: {AGAIN}")


def _number(cells: list[NotebookNode], used: set[str]) -> None:
    """Give added cells ids that are the same in every run and differ from the course's."""
    free = (name for number in range(len(cells) + len(used)) if (name := f"added-{number}") not in used)
    for cell in cells:
        if cell.id not in used:
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
