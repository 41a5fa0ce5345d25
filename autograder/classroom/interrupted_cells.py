"""Cells of a student's own copy that the student stopped: an endless loop would run again until the grader's limit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from autograder.base.text import truncate
from autograder.intake.cell_origin import is_for_trying
from labkit.untrusted_json import DAMAGED

MAX_LINE = 60  # characters of a cell's first line


def drop_interrupted_cells(content: bytes) -> tuple[bytes, list[str]]:
    """Return the notebook without interrupted cells that nothing else needs, and a note about each.

    These are cells that the student added, and the course's cells for trying things. The Check button doesn't run them
    either. A cell that failed on its own is kept: the grader runs it just as briefly.
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
    return is_for_trying(cell) and any(output.get("ename") == "KeyboardInterrupt" for output in cell.get("outputs", []))


def _describe(cell: Mapping[str, Any]) -> str:
    lines = [line.strip() for line in "".join(cell["source"]).splitlines() if line.strip()]
    first = truncate("".join(lines[:1]), MAX_LINE, " …")
    return f"Your cell “{first}” wasn't run: you stopped it in the notebook."
