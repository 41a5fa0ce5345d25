"""What students call a quiz or a question: the heading above it, since they never read its name."""

from __future__ import annotations

import re

from autograder.model.course import Cell, CellKind, Lab

HEADING = re.compile(r"^#{1,6} +(?P<text>.+?)(?: +\([\d.]+ points?\))?$", re.MULTILINE)
MARKUP = re.compile(r"[`*]")


def find_title(cell: Cell, lab: Lab) -> str:
    """Return the title of a quiz or a question; empty for an exercise, whose name students write.

    It's the last heading of the text that asks. Without one, the words of the name have to do.
    """
    if cell.quiz:
        text = next(c.source for c in lab.cells if c.kind is CellKind.PROSE and c.name == cell.name)
    elif cell.kind is CellKind.QUESTION:
        before = lab.cells[: lab.cells.index(cell)][-1:]
        parts = [c.source for c in before if c.kind is CellKind.PROSE]
        text = "\n".join([*parts, cell.source.partition("### BEGIN SOLUTION")[0]])
    else:
        return ""
    headings = [MARKUP.sub("", match["text"]) for match in HEADING.finditer(text)]
    return headings[-1] if headings else cell.name.replace("_", " ").strip().capitalize()
