"""Small courses of the kinds that strangers bring, as files, and grading them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from autograder.gradebook.reader import read_result
from autograder.gradebook.schema import SubmissionResult
from autograder.gradebook.store import load_result
from autograder.grading.class_writer import Done
from autograder.grading.nbgrader_api import open_course
from autograder.grading.where import ThisMachine
from autograder.grading.whole_lab import grade_lab
from autograder.result import Result
from tests.plain.plain_course import OURS, write


def made(root: Path, files: Mapping[str, str], settings: str = "") -> Path:
    """A course with these files, by their paths, and these lines in its configuration."""
    write(root / "nbgrader_config.py", OURS + settings)
    for path, text in files.items():
        write(root / path, text)
    return root


def grade(course: Path, where: ThisMachine, lab: str = "a1") -> list[Done]:
    return list(grade_lab(open_course(course), lab, where))


def document(course: Path, student: str, lab: str = "a1") -> Result:
    result = load_result(course, lab, student)
    assert result is not None
    return result


def in_gradebook(course: Path, student: str, lab: str = "a1") -> SubmissionResult:
    return read_result(f"sqlite:///{course}/gradebook.db", course, lab, student)
