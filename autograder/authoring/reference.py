"""Puts the worked solution and the domain before the hidden checks that draw inputs."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from autograder.authoring.raw_cells import RawCell, repeat_line
from autograder.authoring.regions import strip_markers
from autograder.authoring.syntax_trees import parse_source

IMPORTS = (
    "from hypothesis import strategies as st\n\n"
    "from labkit.domain import domain\n"
    "from labkit.reference import define_reference"
)


def render_reference(name: str, source: str, earlier: Mapping[str, str], seed: int) -> str:
    """Return code that defines `reference`.

    The solution is a text, and not a function of the check cell: there, its name is the student's function, which a
    recursive solution would call.

    Args:
        name: The exercise.
        source: Its cell, with the solution.
        earlier: The cells of the exercises before it, by name. Those that the solution uses are defined too, because
            under their names, the check cell has the student's functions.
        seed: Of the inputs that are drawn.
    """
    text = "\n\n\n".join(map(strip_markers, [*_collect_used(source, earlier), source]))
    is_plain = "'''" not in text and not text.endswith("\\")
    literal = f"r'''\n{text}\n'''" if is_plain else repr(text)
    return f"{IMPORTS}\n\nreference = define_reference({name!r}, {literal}, globals(), seed={seed})\n\n"


def join_domain(begin: str, domain: RawCell, checks: RawCell) -> tuple[str, tuple[int, ...]]:
    """Return the source of the hidden checks with what comes before them, and the line of each of its lines.

    Args:
        begin: The code of render_reference().
    """
    lines = (*repeat_line(domain.line, begin), *domain.line_numbers, checks.line, checks.line, *checks.line_numbers)
    return f"{begin}\n{domain.source}\n\n\n{checks.source}", lines


def _collect_used(source: str, earlier: Mapping[str, str]) -> list[str]:
    """Return the cells of the exercises that this one uses, each after those that it uses itself."""
    used: list[str] = []
    for node in ast.walk(parse_source(source)):
        if isinstance(node, ast.Name) and (cell := earlier.get(node.id)):
            used += [other for other in (*_collect_used(cell, earlier), cell) if other not in used]
    return used
