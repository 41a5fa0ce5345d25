"""What a quiz looks like: the letters in its cell, which is read as text and not run, and the labels of its checks."""

from __future__ import annotations

import re
from collections.abc import Sequence

LETTERS = re.compile(r"""\b(q\d+)["']?\s*[:=]\s*["']([A-Za-z, ]*)["']""")  # "q1": "abc", and q1="abc"
DOCSTRING = re.compile(r'''\A(\s*def [^\n]*\n\s*)(?:""".*?"""|".*?")''', re.DOTALL)  # its example isn't an answer
COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)  # such as the line to fill in


def parse_letters(source: str) -> dict[str, str] | None:
    """Return the letters of each question; None if they can't be read."""
    found = LETTERS.findall(COMMENT.sub("", DOCSTRING.sub(r"\1", source)))
    return {question: letters.lower() for question, letters in found} or None


QUIZ_LABEL = re.compile(r"q\d+: ")  # how the labels of its questions begin
HALF = ", at most one mistake"  # how the label ends of the check for half of a question's points


def drop_half_labels(labels: Sequence[str]) -> list[str]:
    """Return the labels with one for each question of a quiz."""
    return [label for label in labels if not (label.endswith(HALF) and label.removesuffix(HALF) in labels)]
