"""Writes the worked solution into a hidden check, whose drawn inputs it gives an expected value."""

from __future__ import annotations

from autograder.authoring.regions import strip_markers

IMPORTS = (
    "from hypothesis import strategies as st\n\n"
    "from labkit.domain import domain\n"
    "from labkit.reference import define_reference"
)


def render_reference(name: str, source: str, seed: int) -> str:
    """Return code that defines `reference`.

    The solution is a text, and not a function of the check cell: there, its name is the student's function, which a
    recursive solution would call.

    Args:
        name: The exercise.
        source: Its cell, with the solution.
        seed: Of the inputs that are drawn.
    """
    text = strip_markers(source)
    is_plain = "'''" not in text and not text.endswith("\\")
    literal = f"r'''\n{text}\n'''" if is_plain else repr(text)
    return f"{IMPORTS}\n\nreference = define_reference({name!r}, {literal}, globals(), seed={seed})\n\n"
