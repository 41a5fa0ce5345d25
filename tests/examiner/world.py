"""The objects of a student process as a check sees them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from autograder.examiner.connection import Connection
from autograder.examiner.process_time_limit import ProcessTimeLimit
from autograder.examiner.remote_namespace import RemoteNamespace
from tests.examiner.program import start_student_process


@contextmanager
def open_world(
    seconds: float | None = 600.0, given: dict[str, Any] | None = None, **student: Any
) -> Iterator[RemoteNamespace]:
    with start_student_process({**(given or {}), **student}, list(given or {})) as channel:
        connection = Connection(channel)
        connection.begin_check(None if seconds is None else ProcessTimeLimit(seconds))
        yield RemoteNamespace(connection, given or {}, lambda: getattr(connection, "checks", 0))
