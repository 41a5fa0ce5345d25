"""The folder in submitted/ that counts for a student, as grading reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.base.digest import digest
from autograder.gradebook.autograded_folder import CopyRules, list_companion_files
from autograder.gradebook.submission_folders import get_submitted_path
from autograder.intake.folder_normalization import normalize_folder


@dataclass(frozen=True)
class SubmittedFolder:
    """The folder that counts as one student's submission."""

    student: str
    submitter: str
    """Who submitted it: the student, or a member of the same team."""
    path: Path
    files: Sequence[Path]
    """The files in it besides the notebooks."""
    files_digest: str
    """A digest of their names, sizes and times."""


def read_folder(
    course: Path, lab: str, student: str, submitter: str, notebooks: Sequence[str], rules: CopyRules
) -> SubmittedFolder:
    """Tidy up the folder, and read what is in it besides the notebooks.

    Args:
        submitter: Who submitted it.
        notebooks: The notebooks that students submit, without their suffix.
        rules: Which files count.
    """
    path = get_submitted_path(course, lab, submitter)
    normalize_folder(path, lab, list(notebooks))
    files = list_companion_files(course, lab, submitter, rules)
    return SubmittedFolder(student, submitter, path, files, digest(*(_describe_file(course, file) for file in files)))


def _describe_file(course: Path, path: Path) -> str:
    status = path.stat()
    return f"{path.relative_to(course)} {status.st_size} {status.st_mtime_ns}"
