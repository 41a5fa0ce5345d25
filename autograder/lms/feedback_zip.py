"""Feedback pages as one zip, named as the system wants them back."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from autograder.base.errors import GradlabError
from autograder.lms.downloads import require_origins
from autograder.lms.systems import System

EPOCH = (1980, 1, 1, 0, 0, 0)  # the same pages give the same bytes


def refuse_unnamed(system: System, course: Path, lab: str) -> None:
    """Raises GradlabError where nothing says how this system wants the pages named, or it takes none."""
    _choose_names(system, course, lab, {})


def write_feedback_zip(
    system: System, course: Path, lab: str, path: Path, written: Sequence[Path]
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
    named = _choose_names(system, course, lab, pages)
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for student, names in sorted(named.items()):
            for name, page in zip(names, pages[student], strict=True):
                archive.writestr(zipfile.ZipInfo(name, EPOCH), page.read_bytes(), zipfile.ZIP_DEFLATED)
    return sum(map(len, named.values())), sorted(pages.keys() - named.keys())


def _choose_names(system: System, course: Path, lab: str, pages: Mapping[str, Sequence[Path]]) -> dict[str, list[str]]:
    """student -> the names of the pages in the zip: one for each notebook."""
    if system is System.GRADESCOPE:
        raise GradlabError("Gradescope takes no feedback files: hand the pages out another way (--zip csv)")
    if system is System.CSV:
        return {student: [f"{student}/{page.name}" for page in own] for student, own in pages.items()}
    origins = require_origins(course, lab, system)
    known = {student: origins[student] for student in pages if student in origins}
    if system is System.MOODLE:
        return {student: [f"{origin}/{page.name}" for page in pages[student]] for student, origin in known.items()}
    return {student: _make_canvas_names(PurePosixPath(origin), pages[student]) for student, origin in known.items()}


def _make_canvas_names(origin: PurePosixPath, pages: Sequence[Path]) -> list[str]:
    """Canvas knows whose a page is by the name that the file handed in had; of several, each has its own at the end."""
    return [f"{origin.stem}{f'-{page.stem}' if len(pages) > 1 else ''}.html" for page in pages]
