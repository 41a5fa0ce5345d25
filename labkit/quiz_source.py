"""The letters in the source of a quiz's cell, which is read as text and not run."""

from __future__ import annotations

import re

LETTERS = re.compile(r"""\b(q\d+)["']?\s*[:=]\s*["']([A-Za-z, ]*)["']""")  # "q1": "abc", and q1="abc"
DOCSTRING = re.compile(r'''\A(\s*def [^\n]*\n\s*)(?:""".*?"""|".*?")''', re.DOTALL)  # its example isn't an answer


def parse_letters(source: str) -> dict[str, str] | None:
    """Return the letters of each question; None if they can't be read."""
    found = LETTERS.findall(DOCSTRING.sub(r"\1", source))
    return {question: letters.lower() for question, letters in found} or None
