"""Finds the line of a mistake in labs/course.toml."""

from __future__ import annotations

import re
import tomllib

ENTRY = re.compile(r"\s*\[\[\s*labs\s*\]\]")
PLACE = re.compile(r"\(at line (\d+), column \d+\)$")  # in tomllib's messages; errors have `lineno` from Python 3.14 on


def find_error_line(text: str, error: Exception) -> int | None:
    """Return the line at which this text can't be read; None for an error in what it says."""
    if isinstance(error, UnicodeDecodeError):
        return error.object.count(b"\n", 0, error.start) + 1
    if isinstance(error, tomllib.TOMLDecodeError):
        place = PLACE.search(str(error))
        return int(place[1]) if place else len(text.splitlines())  # at the end of the document
    return None


def find_entry_line(text: str, number: int) -> int:
    """Return the line where an entry of the labs begins, counted from 0; 1 if there's no such entry."""
    starts = [line for line, content in enumerate(text.splitlines(), start=1) if ENTRY.match(content)]
    return starts[number] if number < len(starts) else 1
