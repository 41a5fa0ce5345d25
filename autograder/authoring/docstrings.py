"""Wraps the docstrings of exercises for a notebook's cell, which is narrower than an editor with an author's lines."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field

from autograder.authoring.syntax_trees import parse_source

WIDTH = 88  # columns of a notebook's cell in a window of 1280 pixels, next to the course's panel
# An author's line is at most 120 columns wide. One that its next word would have made longer than this goes on below.
FULL = 112
LEAST = 16  # characters of a last line: a lone word looks lost
MOST_NARROWER = 20  # columns that the other lines may lose for that
QUOTES = '"""'
BULLET, JOINED = "- ", "\0-\0"


def wrap_docstrings(source: str) -> str:
    """Return the code with docstring lines of at most WIDTH columns. Sentences, bullets and line ends in text stay."""
    lines = source.split("\n")
    for node in sorted(_iter_docstrings(source), key=lambda node: node.lineno, reverse=True):
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        lines[first:last] = _wrap(lines[first:last])
    return "\n".join(lines)


@dataclass
class _Item:
    """A line of an author's, with the lines that continue it."""

    indent: int
    lines: list[str] = field(default_factory=list)

    @property
    def margin(self) -> int:
        """The columns before the lines that continue it."""
        return self.indent + len(BULLET) * self.lines[0].lstrip().startswith(BULLET)

    def is_continued_by(self, line: str) -> bool:
        text = line.lstrip()
        if not text or text.startswith((BULLET, QUOTES)) or len(line) - len(text) != self.margin:
            return False
        return bool(self.lines[0].strip()) and len(self.lines[-1]) + 1 + len(text.split()[0]) > FULL

    def wrap(self) -> list[str]:
        if all(len(line) <= WIDTH for line in self.lines):
            return self.lines
        text = " ".join(line.strip() for line in self.lines)
        body = text.removesuffix(QUOTES)
        widest = self._fill(body, WIDTH)
        narrower = (self._fill(body, width) for width in range(WIDTH - 1, WIDTH - MOST_NARROWER, -1))
        same = [widest, *(lines for lines in narrower if len(lines) == len(widest))]
        wrapped = next((lines for lines in same if len(lines[-1].strip()) >= LEAST), widest)
        return wrapped if body == text else [*wrapped, " " * self.indent + QUOTES]

    def _fill(self, text: str, width: int) -> list[str]:
        joined = text.replace(f" {BULLET}", JOINED)  # at the start of a line, a minus would be a bullet
        wrapper = textwrap.TextWrapper(width, " " * self.indent, " " * self.margin)
        wrapper.break_long_words = wrapper.break_on_hyphens = False
        lines = wrapper.wrap(joined)
        return [line.replace(JOINED, f" {BULLET}") for line in lines]


def _wrap(lines: list[str]) -> list[str]:
    items: list[_Item] = []
    for line in lines:
        if items and items[-1].is_continued_by(line):
            items[-1].lines.append(line)
        else:
            items.append(_Item(len(line) - len(line.lstrip()), [line]))
    return [line for item in items for line in item.wrap()]


def _iter_docstrings(source: str) -> Iterator[ast.stmt]:
    for node in ast.walk(parse_source(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
            yield node.body[0]
