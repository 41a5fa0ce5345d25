"""What a student's kernel ran: the cell in which an exercise was written, told by its digest."""

from __future__ import annotations

import hashlib
import re
import sys


def digest_source(source: str) -> str:
    """Of a cell's text, without the white space around it."""
    return hashlib.sha256(source.strip().encode()).hexdigest()[:16]


def digest_cell(exercise: str) -> str:
    """Of the cell that this kernel ran last of those that define the exercise; empty where none is known."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    defines = re.compile(rf"^(?:(?:async )?def|class) {re.escape(exercise)}\b|^{re.escape(exercise)} *=", re.MULTILINE)
    ran = getattr(getattr(shell, "history_manager", None), "input_hist_raw", [])
    return next((digest_source(text) for text in reversed(ran) if defines.search(text)), "")
