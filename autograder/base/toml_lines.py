"""Finds the line of a mistake in a TOML file that a person writes, such as labs/course.toml and term.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence

HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]")
PLACE = re.compile(r"\(at line (\d+), column \d+\)$")  # in tomllib's messages; errors have `lineno` from Python 3.14 on


def find_error_line(text: str, error: Exception) -> int | None:
    """Return the line at which this text can't be read; None for an error in what it says."""
    if isinstance(error, UnicodeDecodeError):
        return error.object.count(b"\n", 0, error.start) + 1
    if isinstance(error, tomllib.TOMLDecodeError):
        place = PLACE.search(str(error))
        return int(place[1]) if place else len(text.splitlines())  # at the end of the document
    return None


def find_entry_line(text: str, table: str, number: int) -> int:
    """Return the line where an entry of this array of tables begins, counted from 0; 1 if there's no such entry."""
    starts = [line for line, brackets, name in _list_headers(text) if (brackets, name) == ("[[", table)]
    return starts[number] if number < len(starts) else 1


def find_key_line(text: str, location: Sequence[str | int]) -> int:
    """Return the line of a key, or of its table's header if it's missing.

    Args:
        text: The document.
        location: The names of tables and keys, and the numbers of entries from 0, as pydantic reports them.
    """
    keys = [*map(str, location), "", ""]
    if len(location) > 1 and isinstance(location[1], int):
        start, key = find_entry_line(text, keys[0], location[1]), keys[2]
    else:
        names = (f"{keys[0]}.{keys[1]}", f'{keys[0]}."{keys[1]}"')
        found = [line for line, brackets, name in _list_headers(text) if brackets == "[" and name in names]
        start, key = (found[0], keys[2]) if found else (1, keys[0])
    for line, content in enumerate(text.splitlines()[start - 1 :], start):
        if re.match(rf'\s*"?{re.escape(key)}"?\s*=', content):
            return line
        if line > start and HEADER.match(content):
            break
    return start


def _list_headers(text: str) -> list[tuple[int, str, str]]:
    """List the line, the brackets and the name of each table."""
    headers = ((line, HEADER.match(content)) for line, content in enumerate(text.splitlines(), start=1))
    return [(line, match[1], match[2]) for line, match in headers if match]
