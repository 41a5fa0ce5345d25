"""Executes the cells of a lab in a namespace, and records the outcomes of check cells."""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable
from types import CodeType
from typing import Any

from labkit.check import record_outcomes
from labkit.outcome import Outcome


def create_namespace() -> dict[str, Any]:
    """Return the namespace in which a notebook's first cell runs."""
    return {"__name__": "__main__", "display": lambda *_args, **_kwargs: None}


def run_cell(source: str, namespace: dict[str, Any], file: str) -> None:
    """Execute a cell. Tracebacks show `file` as its name, and its lines."""
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(_compile_cell(source, file), namespace)


@functools.lru_cache(maxsize=1024)
def _compile_cell(source: str, file: str) -> CodeType:
    return compile(source, file, "exec")


def record_check_cell(
    source: str,
    namespace: dict[str, Any],
    file: str,
    before_check: Callable[[], None] = lambda: None,
    after_check: Callable[[], None] = lambda: None,
) -> list[Outcome]:
    """Run a check cell and return its outcomes.

    Args:
        file: The cell's name in tracebacks.
        before_check: Called before each check.
        after_check: Called after each check.

    Raises:
        Exception: If the cell raises it outside its checks, which is an error of the course.
    """
    with record_outcomes(before_check, after_check) as outcomes:
        run_cell(source, namespace, file)
    return outcomes
