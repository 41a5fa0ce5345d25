"""Remembers which cells failed before they defined anything, so that a check doesn't pass off an older definition."""

from __future__ import annotations

import re
import sys
from typing import Any

from labkit.cell_digests import digest_source, list_digests

DEFINES = re.compile(r"^(?:(?:async )?def|class) (\w+)\b", re.MULTILINE)
_failed: set[str] = set()  # digests of their sources
_before: dict[str, Any] = {}  # what the names that the running cell defines were before


def register_failures() -> None:
    """Let this notebook's kernel remember the cells that fail."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None:
        return

    def remember_names(info: Any) -> None:
        names = DEFINES.findall(info.raw_cell or "")
        _before.clear()
        _before.update((name, shell.user_ns.get(name)) for name in names)

    def record_failure(result: Any) -> None:
        digest = digest_source(result.info.raw_cell or "")
        kept = any(shell.user_ns.get(name) is value for name, value in _before.items())
        if kept and not result.success:
            _failed.add(digest)
        else:
            _failed.discard(digest)
        _before.clear()

    shell.events.register("pre_run_cell", remember_names)
    shell.events.register("post_run_cell", record_failure)


def digest_definition(exercise: str) -> str:
    """Return the digest of the cell that last defined the exercise in this kernel; empty if unknown."""
    return next((digest for digest in list_digests(exercise) if digest not in _failed), "")


def has_failed_since(exercise: str) -> bool:
    """Return whether the exercise was defined, and its cell failed since, before it defined the exercise again."""
    digests = list_digests(exercise)
    return bool(digests) and digests[0] in _failed and digest_definition(exercise) != ""
