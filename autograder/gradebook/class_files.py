"""Reads what the files of a graded submission say, for a whole class: notes, checks, what was written, its page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic_core import from_json

from autograder.base.errors import GradlabError
from autograder.gradebook.autograded_folder import get_autograded_path
from autograder.gradebook.labels import make_labels
from autograder.gradebook.notebook_file import read_plain_cells
from autograder.gradebook.store import get_result_path, load_result
from autograder.gradebook.student_answers import collect_answers
from autograder.model.notes import Note
from autograder.model.result_upgrade import upgrade


def read_documents(course: Path, lab: str, student: str, whole: bool, checks: bool) -> dict[str, Any]:
    """Read what files say about a graded submission: fields of a Member, `made_of`, and `stopped` without labels.

    Args:
        whole: Whether to read what the student wrote, and checks.
        checks: Whether to read checks if `whole`.
    """
    fields: dict[str, Any] = {"page": find_page(course, lab, student)}
    if whole:
        fields["answers"] = collect_answers(read_plain_cells(get_autograded_path(course, lab, student)))
    if not (whole and checks):
        return fields | _read_trouble(course, lab, student)
    document = load_result(course, lab, student)
    if document is None:
        return fields
    labels = make_labels(document)
    return fields | {
        "notes": document.notes,
        "remarks": document.remarks,
        "notebooks": len(document.notebooks),
        "damaged": document.empty,
        "stopped": document.stopped,
        "changed": document.changed,
        "made_of": document.made_of,
        "checks": {labels.label_id(cell.id): cell.checks for cell in document.cells},
        "own_process": tuple(labels.label_id(cell.id) for cell in document.cells if cell.own_process),
    }


def _read_trouble(course: Path, lab: str, student: str) -> dict[str, Any]:
    """Read the notes, the stopped cells and `made_of` of a result document, without its checks."""
    path = get_result_path(course, lab, student)
    try:
        document = upgrade(from_json(path.read_bytes()) | {"cells": ()})
        return {
            "notes": tuple(Note.model_validate(note) for note in document.get("notes", ())),
            "notebooks": len(document.get("notebooks", ())),
            "damaged": document.get("empty", False),
            "stopped": tuple(document.get("stopped", ())),
            "made_of": document.get("made_of", {}),
        }
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise GradlabError(f"{path} isn't a result document: grade this submission again\n    {error}") from None


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
