"""Reads what the files of a graded submission say, for a whole class: notes, checks, what was written, its page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic_core import from_json

from autograder.base.errors import GradlabError
from autograder.gradebook.autograded_folder import get_autograded_path
from autograder.gradebook.labels import make_labels
from autograder.gradebook.notebook_file import read_plain_cells
from autograder.gradebook.result_documents import get_result_path, load_document
from autograder.gradebook.student_answers import collect_answers
from autograder.model.notes import Note
from autograder.model.result_upgrade import upgrade_result

if TYPE_CHECKING:
    from labkit.outcome import Outcome


class Detail(IntEnum):
    """How much to read of each graded submission."""

    MARKS = 0
    """Its marks and notes."""
    ANSWERS = 1
    """What the student wrote, too."""
    CHECKS = 2
    """The outcomes of its checks, too."""


@dataclass(frozen=True)
class GradedFiles:
    """What the files of a graded submission say. What wasn't read, or isn't in a document, has its default."""

    page: str
    """See find_page()."""
    written: Mapping[str, str] = field(default_factory=dict)
    """What the student wrote, by exercise or question."""
    notes: tuple[Note, ...] = ()
    remarks: tuple[Note, ...] = ()
    notebooks: int = 1
    """How many notebooks the submission has."""
    unreadable: bool = False
    """Whether nothing that was submitted could be read, so it counts as empty."""
    stopped_cells: tuple[str, ...] = ()
    """The ids of cells that ran into a limit or ended their process."""
    changed_names: tuple[str, ...] = ()
    made_of: Mapping[str, str] = field(default_factory=dict)
    """As in ResultDocument."""
    checks: Mapping[str, tuple[Outcome, ...]] = field(default_factory=dict)
    """By the graded cell's label."""
    own_process_cells: tuple[str, ...] = ()
    """Labels of the cells that the submission's own process decided."""


def read_graded_files(course: Path, lab: str, student: str, detail: Detail) -> GradedFiles:
    """Read what files say about a graded submission."""
    files = GradedFiles(find_page(course, lab, student))
    if detail >= Detail.ANSWERS:
        written = collect_answers(read_plain_cells(get_autograded_path(course, lab, student)))
        files = replace(files, written=written)
    if detail < Detail.CHECKS:
        return _add_document_summary(files, course, lab, student)
    document = load_document(course, lab, student)
    if document is None:
        return files
    labels = make_labels(document)
    return replace(
        files,
        notes=document.notes,
        remarks=document.remarks,
        notebooks=len(document.notebooks),
        unreadable=document.empty,
        stopped_cells=document.stopped,
        changed_names=document.changed,
        made_of=document.made_of,
        checks={labels.label_id(cell.id): cell.checks for cell in document.cells},
        own_process_cells=tuple(labels.label_id(cell.id) for cell in document.cells if cell.own_process),
    )


def _add_document_summary(files: GradedFiles, course: Path, lab: str, student: str) -> GradedFiles:
    """Add the notes, the stopped cells and `made_of` of the result document, without its checks."""
    path = get_result_path(course, lab, student)
    try:
        document = upgrade_result(from_json(path.read_bytes()) | {"cells": ()})
        return replace(
            files,
            notes=tuple(Note.model_validate(note) for note in document.get("notes", ())),
            notebooks=len(document.get("notebooks", ())),
            unreadable=document.get("empty", False),
            stopped_cells=tuple(document.get("stopped", ())),
            made_of=document.get("made_of", {}),
        )
    except FileNotFoundError:
        return files
    except ValueError as error:
        raise GradlabError(f"{path} isn't a result document", fix=f"grade this submission again\n    {error}") from None


def find_page(course: Path, lab: str, student: str) -> str:
    """Return the path of a student's page, or of the graded notebook if there is no page yet, relative to results/.

    For a stock assignment with several notebooks, it's the first one's.
    """
    feedback = course / "feedback" / student / lab / f"{lab}.html"
    for path in (feedback, get_autograded_path(course, lab, student)):
        candidates = [path] if path.exists() else sorted(path.parent.glob(f"*{path.suffix}"))
        if candidates:
            return f"../{candidates[0].relative_to(course).as_posix()}"
    return ""
