"""Runs single cells of a lab in the examiner: given cells for their names, check cells for their outcomes."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import Any, Protocol

from autograder.examiner.cells import run_cell, run_check_cell
from autograder.examiner.link import Line
from autograder.examiner.remote import World
from autograder.examiner.watchdog import SECONDS, watchdog
from autograder.wire.ambient import apply_flags, read_flags
from labkit.outcome import Outcome


class CheckLine(Line, Protocol):
    """A line to a student process that is told where a check begins, and may connect only then."""

    def renew(self) -> None: ...


def run_given(
    source: str,
    file: str,
    namespace: dict[str, Any],
    defined: Sequence[str],
    line: CheckLine,
    seconds: float = SECONDS,
) -> None:
    """Execute a given cell of the course. The names in `defined` are stand-ins in it; raises what the cell raises.

    seconds: of processor time that it may take; then it raises Stopped.
    """
    if uses(source, defined):
        line.renew()
        _stand_in(namespace, defined, line)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), watchdog(seconds) as dog:
        dog.wind()
        run_cell(source, namespace, file)


def uses(source: str, names: Sequence[str]) -> bool:
    """Whether one of the names may occur in this source."""
    return any(name in source for name in names)


def run_checks(
    source: str,
    file: str,
    namespace: dict[str, Any],
    defined: Sequence[str],
    line: CheckLine,
    seconds: float = SECONDS,
) -> list[Outcome]:
    """The outcomes of a check cell in which the names in `defined` are stand-ins.

    seconds: of processor time that a check may take here.
    """
    _stand_in(namespace, defined, line)
    cells_own = dict(namespace)  # what the cell defines is no given name, by which the student's process would know it
    with watchdog(seconds) as dog:
        flags = read_flags()

        def before_check() -> None:
            apply_flags(flags)  # a call may have left another default dtype: that is the check's before this one
            line.renew()
            dog.wind()

        return run_check_cell(source, cells_own, file, before_check, dog.rest)


def _stand_in(namespace: dict[str, Any], defined: Sequence[str], line: Line) -> None:
    world = World(line, namespace)
    namespace.update({name: world.stand_in(name) for name in defined})
