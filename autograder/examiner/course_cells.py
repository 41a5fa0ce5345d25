"""Runs single cells of a lab in the examiner: given cells to define names, check cells for their outcomes."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import Any

from autograder.examiner.check_connection import CheckConnection
from autograder.examiner.execution import record_check_cell, run_cell
from autograder.examiner.remote_namespace import RemoteNamespace
from autograder.examiner.watchdog import SECONDS, run_watchdog
from autograder.rpc.flags import read_torch_flags, set_flags
from labkit.outcome import Outcome


def run_given(
    source: str,
    file: str,
    namespace: dict[str, Any],
    defined: Sequence[str],
    connection: CheckConnection,
    seconds: float = SECONDS,
) -> None:
    """Execute a given cell of the course, with proxies for the names in `defined`. Raises what the cell raises.

    Args:
        seconds: Processor time after which it raises StoppedError.
    """
    if can_mention_names(source, defined):
        connection.begin_check()
        _put_proxies(namespace, defined, connection)
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        run_watchdog(seconds) as dog,
    ):
        dog.start()
        run_cell(source, namespace, file)


def can_mention_names(source: str, names: Sequence[str]) -> bool:
    """Return whether one of the names may occur in this source."""
    return any(name in source for name in names)


def run_checks(
    source: str,
    file: str,
    namespace: dict[str, Any],
    defined: Sequence[str],
    connection: CheckConnection,
    seconds: float = SECONDS,
) -> list[Outcome]:
    """Run a check cell, with proxies for the names in `defined`, and return its outcomes.

    Args:
        seconds: Processor time that a check may take in this process.
    """
    _put_proxies(namespace, defined, connection)
    cell_namespace = dict(namespace)  # what the cell defines must not become a given name of the student process
    with run_watchdog(seconds) as dog:
        flags = read_torch_flags()

        def prepare_check() -> None:
            # A call in the check before this one may have left another default dtype.
            set_flags(flags, read_torch_flags())
            connection.begin_check()
            dog.start()

        return record_check_cell(source, cell_namespace, file, prepare_check, dog.stop)


def _put_proxies(namespace: dict[str, Any], defined: Sequence[str], connection: CheckConnection) -> None:
    remote = RemoteNamespace(connection, namespace, lambda: connection.checks)
    namespace.update({name: remote.get_proxy(name) for name in defined})
