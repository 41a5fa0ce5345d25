"""Problems of what only a course's owner may open: its gradebook and term.toml.

The gradebook's path is in Python of the course's user, and root opens no file that someone else can replace. So a
process of that user looks: `python -m autograder.hub.term_problems COURSE`.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import make_url

from autograder.base.errors import GradlabError
from autograder.base.file_owner import get_owner_name
from autograder.classroom.unknown_names import list_unknown_names
from autograder.gradebook.database import open_gradebook
from autograder.gradebook.nbgrader_course import NbgraderCourse, open_course
from autograder.hub.finding import Finding, format_command, print_findings
from autograder.model.term import TERM_FILE, read_term

IN_MEMORY = "sqlite://"


def find_problems(course: Path) -> Iterator[Finding]:
    """Find problems of the gradebook and of term.toml, as the current user."""
    nbgrader = open_course(course)
    file, has_marks = _find_file(nbgrader), True
    if file:
        try:
            has_marks = file.exists() and _has_marks(file)
        except sqlite3.DatabaseError as error:
            has_marks = False
            yield _explain_loss(course, file, f"{file} can't be read, since it's damaged: {error}")
        else:
            if not has_marks and _has_results(course):
                problem = f"{file} has no marks, and {course} has graded submissions: the gradebook is lost"
                yield _explain_loss(course, file, problem)
    is_open = has_marks and (file is None or os.access(file, os.R_OK | os.W_OK))
    yield from _check_decisions(course, nbgrader.db_url if is_open else IN_MEMORY)


def _find_file(nbgrader: NbgraderCourse) -> Path | None:
    """Find the gradebook's file; None if it isn't in one."""
    url = make_url(nbgrader.db_url)
    return nbgrader.root / url.database if url.get_backend_name() == "sqlite" and url.database else None


def _explain_loss(course: Path, gradebook: Path, problem: str) -> Finding:
    restore = format_command("install", "-o", get_owner_name(course), "-m", 600)
    if gradebook.parent != course:
        problem += "; c.CourseDirectory.db_url in nbgrader_config.py names this file"
    return Finding(
        problem,
        f"{restore} BACKUP/{gradebook.name} {gradebook}\n"
        "or, without a backup, move it away if it exists, and grade each lab again, as the course's owner: gradlab "
        "grade LAB; marks that people gave are lost then",
    )


def _has_results(course: Path) -> bool:
    marks = (course / "results").glob("*/history/*.jsonl")
    notebooks = (course / "autograded").glob("*/*/*.ipynb")
    return any(marks) or any(notebooks)


def _has_marks(gradebook: Path) -> bool:
    """Return whether it has one. Raises sqlite3.DatabaseError if the file is no gradebook."""
    try:
        with contextlib.closing(sqlite3.connect(f"{gradebook.as_uri()}?mode=ro", uri=True)) as database:
            return database.execute("select 1 from submitted_assignment limit 1").fetchone() is not None
    except sqlite3.OperationalError as error:
        return error.sqlite_errorcode != sqlite3.SQLITE_ERROR  # of an empty file; a locked one isn't lost


def _check_decisions(course: Path, gradebook_url: str) -> Iterator[Finding]:
    """Check what term.toml says. Without a gradebook that has marks, no student is unknown."""
    try:
        term = read_term(course)
        with open_gradebook(gradebook_url) as gradebook:
            names = list_unknown_names(course, term, gradebook)
    except (GradlabError, OSError) as error:
        problem = error.placed_problem if isinstance(error, GradlabError) else f"{course / TERM_FILE}: {error.strerror}"
        yield Finding(problem, "correct it: until then, the course's watch marks nothing", blocks=False)
        return
    for name in names:
        yield Finding(name.problem, name.fix, blocks=False)


if __name__ == "__main__":
    print_findings(find_problems(Path(sys.argv[1])))
