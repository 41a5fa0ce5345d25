"""Feedback pages as one zip, named as the system wants them back."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from autograder.errors import GradlabError
from autograder.lms.downloads import origins_of
from autograder.lms.systems import System

EPOCH = (1980, 1, 1, 0, 0, 0)  # the same pages give the same bytes


def refuse_unnamed(system: System, course: Path, lab: str) -> None:
    """Raises GradlabError where nothing says how this system wants the pages named, or it takes none."""
    _names(system, course, lab, {})


def write_feedback_zip(system: System, course: Path, lab: str, path: Path) -> tuple[int, list[str]]:
    """Write the pages that `gradlab feedback` made: (how many, whose are left out, since the system named them not).

    Raises GradlabError where there are none.
    """
    pages = {page.parent.parent.name: page for page in sorted((course / "feedback").glob(f"*/{lab}/{lab}.html"))}
    if not pages:
        raise GradlabError(f"no feedback page of {lab} is there: gradlab feedback {lab} first")
    names = _names(system, course, lab, pages)
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for student, name in sorted(names.items()):
            archive.writestr(zipfile.ZipInfo(name, EPOCH), pages[student].read_bytes(), zipfile.ZIP_DEFLATED)
    return len(names), sorted(pages.keys() - names.keys())


def _names(system: System, course: Path, lab: str, pages: Mapping[str, Path]) -> dict[str, str]:
    """student -> the page's name in the zip."""
    if system is System.GRADESCOPE:
        raise GradlabError("Gradescope takes no feedback files: hand the pages out another way (--zip csv)")
    if system is System.CSV:
        return {student: f"{student}/{lab}.html" for student in pages}
    origins = origins_of(course, lab, system)
    known = {student: origins[student] for student in pages if student in origins}
    if system is System.MOODLE:
        return {student: f"{origin}/{lab}.html" for student, origin in known.items()}
    return {student: PurePosixPath(origin).with_suffix(".html").name for student, origin in known.items()}
