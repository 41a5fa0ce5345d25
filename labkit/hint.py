"""Hints that a student opens one at a time."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

FOLD = "<details>"
MARKUP = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])|(?<![ *])\*+|\*+(?![ *])")  # what Markdown may read as emphasis


@dataclass
class Hints:
    """Folded hints. In a notebook each opens with a click; elsewhere only the first is shown."""

    hints: tuple[str, ...]

    def __repr__(self) -> str:
        more = f" ({len(self.hints) - 1} more in a notebook)" if len(self.hints) > 1 else ""
        return f"hint 1: {self.hints[0]}{more}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/markdown": fold_hints_in_text(self.hints)}


def escape_hint(text: str) -> str:
    return escape(text, quote=False)


def fold_hints(hints: tuple[str, ...], render: Callable[[str], str] = escape_hint) -> str:
    """Render the hints as Markdown with <details>: each opens with a click, inside the one before.

    Args:
        render: Renders the text of one as HTML.
    """
    text = ""
    for number, one in reversed(list(enumerate(hints, start=1))):
        text = f"{FOLD}<summary>Hint {number}</summary>\n\n{render(one)}\n\n{text}</details>\n"
    return text.rstrip("\n")


def fold_hints_in_text(hints: tuple[str, ...]) -> str:
    """Render the hints for a text cell, where their stars and underscores would be Markdown."""
    return fold_hints(tuple(MARKUP.sub(lambda run: "".join(f"\\{each}" for each in run[0]), one) for one in hints))


def fold_text(title: str, text: str) -> str:
    """Render a part of a lab's text as Markdown that opens with a click on its title."""
    return f"{FOLD}<summary>{title}</summary>\n\n{text.strip()}\n\n</details>"


def hint(*hints: str) -> Hints:
    """Show hints for the next exercise, from a nudge to nearly the answer. Each opens inside the one before."""
    if not hints:
        raise ValueError("hint() needs at least one hint")
    return Hints(hints)
