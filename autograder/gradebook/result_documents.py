"""Reads and writes result documents, in results/LAB/STUDENT.json in the course's folder."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from autograder.base.atomic_files import write_atomically
from autograder.base.errors import GradlabError
from autograder.model.result import ResultDocument


def get_result_path(course: Path, lab: str, student: str) -> Path:
    return course / "results" / lab / f"{student}.json"


def write_document(course: Path, result: ResultDocument) -> None:
    """Write a result document completely or not at all: a reader finds the old document or the new one."""
    write_atomically(get_result_path(course, result.lab, result.student), result.to_json())


def load_document(course: Path, lab: str, student: str) -> ResultDocument | None:
    """Load the result document of a submission; None if there isn't one. Raises GradlabError if it's damaged."""
    path = get_result_path(course, lab, student)
    if not path.exists():
        return None
    try:
        return ResultDocument.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise GradlabError(f"{path} isn't a result document", fix=f"grade this submission again\n    {error}") from None


def find_document(course: Path, lab: str, student: str) -> ResultDocument | None:
    """Load the result document of a submission; None if there isn't one that can be read."""
    try:
        return load_document(course, lab, student)
    except GradlabError:
        return None
