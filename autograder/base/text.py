"""Formats numbers, names and long texts, for a terminal, a page or a note."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

MAX_NAMES = 5  # in one line
CUT_OFF = "\n(cut off here)"
MAX_BYTES = 255  # of a name that file systems accept
TRUNCATED_BYTES = 180  # of a longer name that are kept


def join_names(names: Sequence[str]) -> str:
    """Join the first few names, and say how many more there are."""
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def join_first(names: Sequence[str], limit: int, separator: str = ", ") -> str:
    """Join the first names, up to the limit, and say if there are more."""
    return separator.join(names[:limit]) + (" and more" if len(names) > limit else "")


def pluralize(noun: str, number: float) -> str:
    """Return the noun as it's written after this number."""
    return noun if number == 1 else f"{noun}s"


def format_count(number: int, noun: str, singular: str = "", plural: str = "") -> str:
    """Format a number with its noun, as in "1 lab" and "2 labs".

    Args:
        singular: A verb to add for one, as in "1 lab waits".
        plural: The same for other numbers, as in "2 labs wait".
    """
    count = f"{number} {pluralize(noun, number)}"
    verb = singular if number == 1 else plural
    return f"{count} {verb}" if verb else count


def truncate(text: str, length: int, ending: str = CUT_OFF) -> str:
    """Shorten a text, and add the ending.

    Args:
        length: The number of characters to keep, without the ending. A text that isn't longer stays unchanged.
    """
    return text if len(text) <= length else text[:length] + ending


def make_readable(name: str) -> str:
    """Replace bytes that aren't UTF-8, which no database accepts, and characters that can't be printed."""
    return "".join(c if c.isprintable() else "?" for c in name.encode("utf-8", "replace").decode())


def replace_controls(text: str) -> str:
    """Replace characters that control a terminal or reorder others, but keep line breaks and tabs."""
    return "".join(c if c in "\n\t" or unicodedata.category(c)[0] != "C" else "?" for c in text)


def truncate_name(name: str, ending: str = "") -> str:
    """Add the ending to a readable name, which is truncated if no file system would accept it."""
    whole = f"{name}{ending}"
    if len(whole.encode()) <= MAX_BYTES:
        return whole
    return name.encode()[:TRUNCATED_BYTES].decode("utf-8", "ignore") + ending
