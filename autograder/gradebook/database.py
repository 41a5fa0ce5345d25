"""Opens nbgrader's gradebook, an SQLite file or a PostgreSQL database. A write waits for programs that lock it."""

from __future__ import annotations

import contextlib
import getpass
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from nbgrader.api import Gradebook
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError

from autograder.base.errors import GradlabError
from autograder.base.file_owner import get_owner_name
from autograder.gradebook.schema_version import patch_version_lookup

WAITS = (0.5, 1.0, 2.0, 4.0, 8.0)  # seconds between tries, besides the five seconds that SQLite itself waits each time
RETRY = "finished results are kept, so run the same command again"


@contextlib.contextmanager
def open_gradebook(db_url: str, course_id: str = "default_course") -> Iterator[Gradebook]:
    """Open the gradebook, an SQLite file or a PostgreSQL database.

    Raises GradlabError if no database answers there.
    """
    patch_version_lookup()
    try:
        gradebook = Gradebook(db_url, course_id)
    except (ImportError, ArgumentError, DatabaseError) as error:
        cause = getattr(error, "orig", None) or error
        if isinstance(error, OperationalError) and _is_locked(error):
            raise GradlabError(_describe_trouble(error, db_url, "then run the same command again")) from None
        raise GradlabError(
            f"the gradebook {_hide_password(db_url)} can't be opened: {cause}",
            fix=(
                "correct c.CourseDirectory.db_url in nbgrader_config.py; PostgreSQL needs pip install 'psycopg[binary]'"
            ),
        ) from None
    with gradebook:
        yield gradebook


def _hide_password(db_url: str) -> str:
    try:
        return make_url(db_url).render_as_string(hide_password=True)
    except ArgumentError:
        return "in c.CourseDirectory.db_url"


def write_with_retries(gradebook: Gradebook, write: Callable[[], None], advice: str = RETRY) -> None:
    """Write in a separate transaction, and try again for a while if another program has locked the gradebook.

    Args:
        write: What to do.
        advice: What the user can do if that doesn't help.
    """
    for wait in (*WAITS, None):
        try:
            with gradebook.db.no_autoflush:  # a row that is flushed before it's complete would be lost
                write()
            gradebook.db.commit()
            return
        except OperationalError as error:
            gradebook.db.rollback()
            if wait is None or not _is_locked(error):
                raise GradlabError(_describe_trouble(error, str(gradebook.db.get_bind().engine.url), advice)) from None
            time.sleep(wait)


def _is_locked(error: OperationalError) -> bool:
    return _get_sqlite_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _get_sqlite_code(error: OperationalError) -> int | None:
    """Return SQLite's primary code for the error, which is the lowest byte; None for another database."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _describe_trouble(error: OperationalError, db_url: str, advice: str) -> str:
    if _is_locked(error):
        return f"another program has locked the gradebook: close it (the formgrader, or another nbgrader); {advice}"
    name, code = _hide_password(db_url), _get_sqlite_code(error)
    if code == sqlite3.SQLITE_FULL:
        return f"the gradebook {name} can't be written, since the disk is full: free some space; {advice}"
    path = Path(make_url(db_url).database or "")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN) and path.is_file():
        return (
            f"{getpass.getuser()} can't write to the gradebook {path}, which belongs to {get_owner_name(path)}: "
            f"correct its owner or its mode; {advice}"
        )
    return f"the gradebook {name} can't be written: {error.orig}; {advice}"
