"""Reads JSON that may be damaged: notebooks that a student edits, and marks next to them."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

MAX_NUMBER = 1e9  # of points or minutes
MAX_BYTES = 100_000_000  # of a notebook
# Exceptions from reading a damaged notebook.
DAMAGED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def read_object(path: Path) -> dict[str, Any]:
    """Read the JSON object in this file; empty if it's missing, damaged, too large, or not a regular file.

    Reading never waits for a pipe.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            is_regular = stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES
            data = json.loads(file.read(MAX_BYTES)) if is_regular else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def read_notebook(path: Path) -> dict[str, Any]:
    """Read a notebook as read_object() does, even while Jupyter saves it.

    Jupyter overwrites the file in place. Meanwhile, it keeps the former content in `.~NAME`.
    """
    return read_object(path) or read_object(path.with_name(f".~{path.name}")) or read_object(path)


def check_text(value: object) -> str:
    """Return the text. Raises TypeError for anything else, which a page couldn't show."""
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def check_number(value: object) -> float:
    """Return the number. Raises ValueError unless its sums are finite, as JSON for a browser requires."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_NUMBER:  # so is NaN
        raise ValueError("not a number of points or minutes")
    return value
