"""Cells of a student's own copy that the student stopped: an endless loop would run again until the grader's limit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from autograder.base.text import truncate
from autograder.model.metadata import KEY
from labkit.untrusted_json import DAMAGED

MAX_LINE = 60  # characters of a cell's first line


def drop_interrupted_cells(content: bytes) -> tuple[bytes, list[str]]:
    """Return the notebook without the student's added cells that were interrupted, and a note about each.

    The Check button leaves them out, too. A cell that failed on its own is kept: the grader runs it just as briefly.
    """
    try:
        notebook = json.loads(content)
        dropped = [cell for cell in notebook["cells"] if _is_interrupted(cell)]
        if not dropped:
            return content, []
        notebook["cells"] = [cell for cell in notebook["cells"] if not _is_interrupted(cell)]
        return json.dumps(notebook).encode(), [_describe(cell) for cell in dropped]
    except DAMAGED:
        return content, []


def _is_interrupted(cell: Mapping[str, Any]) -> bool:
    metadata = cell.get("metadata", {})
    if KEY in metadata or "nbgrader" in metadata:
        return False
    return any(output.get("ename") == "KeyboardInterrupt" for output in cell.get("outputs", []))


def _describe(cell: Mapping[str, Any]) -> str:
    lines = [line.strip() for line in "".join(cell["source"]).splitlines() if line.strip()]
    first = truncate("".join(lines[:1]), MAX_LINE, " …")
    return f"Your cell “{first}” wasn't run: you stopped it in the notebook."
