"""Writes feedback pages as one zip, with the names that the LMS expects."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from autograder.base.errors import GradlabError
from autograder.lms.downloads import require_origins
from autograder.lms.learning_system import LearningSystem

EPOCH = (1980, 1, 1, 0, 0, 0)  # so the same pages give the same bytes


def refuse_unnamed(system: LearningSystem, course: Path, lab: str) -> None:
    """Raise GradlabError if it isn't known which names this system expects, or it accepts no pages."""
    _find_origins(system, course, lab, ())


def write_feedback_zip(
    system: LearningSystem, course: Path, lab: str, path: Path, pages: Sequence[Path]
) -> tuple[int, list[str]]:
    """Write a zip of feedback pages.

    Args:
        system: Decides the names in the zip.
        course: The course's folder.
        lab: The lab of the pages.
        path: The path of the zip.
        pages: The pages, feedback/STUDENT/LAB/NOTEBOOK.html. Other pages there can be a submission's own.

    Returns:
        How many pages are in it, and the students whose pages aren't, since the system didn't name them.
    """
    by_student: dict[str, list[Path]] = {}
    for page in sorted(pages):
        by_student.setdefault(page.parent.parent.name, []).append(page)
    origins = _find_origins(system, course, lab, by_student)
    count = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for student in sorted(by_student.keys() & origins):
            names = system.name_pages(origins[student], by_student[student]) if system.name_pages else ()
            for name, page in zip(names, by_student[student], strict=True):
                archive.writestr(zipfile.ZipInfo(name, EPOCH), page.read_bytes(), zipfile.ZIP_DEFLATED)
                count += 1
    return count, sorted(by_student.keys() - origins)


def _find_origins(system: LearningSystem, course: Path, lab: str, students: Iterable[str]) -> Mapping[str, str]:
    """Return what the system calls the submission, by student."""
    if system.name_pages is None:
        raise GradlabError(
            f"{system.title} accepts no feedback files", fix="hand the pages out another way (--zip csv)"
        )
    return require_origins(course, lab, system) if system.is_origin else {student: student for student in students}
