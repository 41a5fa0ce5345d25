"""Notices a gradebook that was lost while results stayed, as after a restore without it; and a broken term.toml.

The gradebook's path is in Python of the course's user, and root opens no file that someone else can replace. So a
process of that user looks at them: `python -m autograder.hub.gradebook_check COURSE` and
`python -m autograder.hub.gradebook_check COURSE term`.
"""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from pathlib import Path

from sqlalchemy import make_url

from autograder.base.errors import GradlabError
from autograder.gradebook.nbgrader_course import open_course
from autograder.hub.owner_process import run_as_owner
from autograder.model.term import TERM_FILE, read_term

GRADED = ("results", "autograded")


def find_lost_gradebook(course: Path) -> Path | None:
    """Return the path of a gradebook without marks, if the course has graded submissions.

    Raises:
        GradlabError: If the course's owner can't look.
    """
    if not any((course / name).exists() for name in GRADED):  # as before a term: no process has to look
        return None
    process = run_as_owner(course, "-P", "-m", "autograder.hub.gradebook_check", str(course))
    if process.returncode:
        raise GradlabError(
            f"the gradebook of {course} can't be checked: {process.stderr.strip()[-500:]}",
            fix="correct nbgrader_config.py, or the gradebook",
        )
    return Path(process.stdout.strip()) if process.stdout.strip() else None


def find_term_problem(course: Path) -> str:
    """Find what is wrong with the course's term.toml; empty if nothing is."""
    if not (course / TERM_FILE).exists():
        return ""
    process = run_as_owner(course, "-P", "-m", "autograder.hub.gradebook_check", str(course), "term")
    return (process.stderr if process.returncode else process.stdout).strip()[-500:]


def _describe_term(course: Path) -> str:
    try:
        read_term(course)
    except GradlabError as error:
        return error.placed_problem
    except OSError as error:
        return f"{course / TERM_FILE} can't be read: {error.strerror}"
    return ""


def _find_lost(course: Path) -> Path | None:
    url = make_url(open_course(course).db_url)
    if url.get_backend_name() != "sqlite" or not url.database or not _has_results(course):
        return None
    path = course / url.database
    return None if _has_marks(path) else path


def _has_results(course: Path) -> bool:
    marks = (course / "results").glob("*/history/*.jsonl")
    notebooks = (course / "autograded").glob("*/*/*.ipynb")
    return any(marks) or any(notebooks)


def _has_marks(gradebook: Path) -> bool:
    if not gradebook.exists():
        return False
    try:
        with contextlib.closing(sqlite3.connect(f"{gradebook.as_uri()}?mode=ro", uri=True)) as database:
            return database.execute("select 1 from submitted_assignment limit 1").fetchone() is not None
    except sqlite3.OperationalError as error:
        return error.sqlite_errorcode != sqlite3.SQLITE_ERROR  # of an empty file; a locked one isn't lost


def main() -> None:
    """Print the path of a lost gradebook, or a problem of term.toml, or nothing."""
    course = Path(sys.argv[1])
    print(_describe_term(course) if sys.argv[2:] == ["term"] else _find_lost(course) or "")


if __name__ == "__main__":
    main()
