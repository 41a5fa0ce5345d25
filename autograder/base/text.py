"""Numbers, and names of strangers' files and students, in words: for a terminal, a page or a note."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

MOST = 5  # names in one line
LONGEST = 255  # bytes of a name that file systems take
CUT = 180  # bytes that are left of a longer one


def join_names(names: Sequence[str]) -> str:
    """The first few, and how many more there are."""
    more = len(names) - MOST
    return ", ".join(names[:MOST]) + (f" and {more} more" if more > 0 else "")


def format_count(number: int, noun: str, one: str = "", more: str = "") -> str:
    """2 labs, 1 lab. one, more: the verb, as in "1 lab waits" and "2 labs wait"."""
    counted = f"{number} {noun}" if number == 1 else f"{number} {noun}s"
    verb = one if number == 1 else more
    return f"{counted} {verb}" if verb else counted


def make_readable(name: str) -> str:
    """The name without bytes that are no UTF-8, which no database takes, and without line breaks."""
    return "".join(c if c.isprintable() else "?" for c in name.encode("utf-8", "replace").decode())


def replace_controls(text: str) -> str:
    """The text without characters that a terminal obeys or that reorder others; lines and tabs are kept."""
    return "".join(c if c in "\n\t" or unicodedata.category(c)[0] != "C" else "?" for c in text)


def truncate_name(name: str, ending: str = "") -> str:
    """A readable name with this ending, cut where no file system would take it."""
    whole = f"{name}{ending}"
    return whole if len(whole.encode()) <= LONGEST else name.encode()[:CUT].decode("utf-8", "ignore") + ending
