"""The course's own pages that students of a hub get: the start page and the glossary."""

from __future__ import annotations

from pathlib import Path

from autograder.base.atomic_files import write_atomically
from labkit.notebook_progress import GLOSSARY, START

PAGES = (START, GLOSSARY)
DUE_DATES = "due.json"  # next to them, written by course_process.py


def publish_pages(course: Path, folder: Path) -> None:
    """Copy the pages that have changed, and remove those that the course doesn't have any more.

    Args:
        course: The course's folder.
        folder: In the course's part of the exchange, where the exchange's user reads them.
    """
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    for name in PAGES:
        page, copy = course / "release" / name, folder / name
        if not page.is_file():
            copy.unlink(missing_ok=True)
        elif not copy.is_file() or copy.read_bytes() != page.read_bytes():
            write_atomically(copy, page.read_text(encoding="utf-8"))
            copy.chmod(0o644)
