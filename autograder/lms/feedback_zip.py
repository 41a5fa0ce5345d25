"""Feedback pages as one zip, named as the system wants them back."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from autograder.base.errors import GradlabError
from autograder.lms.downloads import require_origins
from autograder.lms.learning_system import LearningSystem

EPOCH = (1980, 1, 1, 0, 0, 0)  # the same pages give the same bytes


def refuse_unnamed(system: LearningSystem, course: Path, lab: str) -> None:
    """Raise GradlabError if it isn't known how this system wants the pages named, or it takes no pages."""
    _find_origins(system, course, lab, ())


def write_feedback_zip(
    system: LearningSystem, course: Path, lab: str, path: Path, written: Sequence[Path]
) -> tuple[int, list[str]]:
    """Write a zip of feedback pages.

    Args:
        system: Decides their names.
        course: The course's folder.
        lab: Whose pages they are.
        path: Where the zip goes.
        written: The pages, feedback/STUDENT/LAB/NOTEBOOK.html. Other pages there can be a submission's own.

    Returns:
        How many are in it, and which students' aren't, since the system didn't name them.
    """
    pages: dict[str, list[Path]] = {}
    for page in sorted(written):
        pages.setdefault(page.parent.parent.name, []).append(page)
    origins = _find_origins(system, course, lab, pages)
    packed = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for student in sorted(pages.keys() & origins):
            names = system.name_pages(origins[student], pages[student]) if system.name_pages else ()
            for name, page in zip(names, pages[student], strict=True):
                archive.writestr(zipfile.ZipInfo(name, EPOCH), page.read_bytes(), zipfile.ZIP_DEFLATED)
                packed += 1
    return packed, sorted(pages.keys() - origins)


def _find_origins(system: LearningSystem, course: Path, lab: str, students: Iterable[str]) -> Mapping[str, str]:
    """What the system calls the submission, by student."""
    if system.name_pages is None:
        raise GradlabError(f"{system.title} takes no feedback files: hand the pages out another way (--zip csv)")
    return require_origins(course, lab, system) if system.is_origin else {student: student for student in students}
