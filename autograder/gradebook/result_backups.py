"""The result that a submission's marks in the gradebook are from, kept until those of a newer result are there too.

A mark by hand belongs to the answer that the person read. If the gradebook can't be written, the next try must still
know that answer: the newer result has replaced the result document by then.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from autograder.gradebook.result_documents import find_document, get_result_path
from autograder.model.result import ResultDocument

FOLDER = ".written"  # as no student is called


def set_aside_result(course: Path, lab: str, student: str) -> None:
    """Remove the result document before a newer one is written, and keep it if the gradebook has its marks."""
    document, kept = get_result_path(course, lab, student), _get_kept_path(course, lab, student)
    if kept.exists() or not document.exists():
        document.unlink(missing_ok=True)
        return
    kept.parent.mkdir(exist_ok=True)
    os.replace(document, kept)


def load_written_result(course: Path, lab: str, student: str) -> ResultDocument | None:
    """Load the kept result; None if the result document's marks are in the gradebook, or it can't be read."""
    return find_document(course, lab, f"{FOLDER}/{student}")


def forget_written_results(course: Path, lab: str, students: Iterable[str]) -> None:
    """Remove the kept results of these students, once the gradebook has the marks of their result documents."""
    for student in students:
        _get_kept_path(course, lab, student).unlink(missing_ok=True)


def _get_kept_path(course: Path, lab: str, student: str) -> Path:
    return get_result_path(course, lab, f"{FOLDER}/{student}")
