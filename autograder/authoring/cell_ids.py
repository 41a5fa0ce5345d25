"""Ids of cells that have no name, made from the title of their section."""

from __future__ import annotations

import re
import unicodedata

from autograder.model.course import Cell, CellKind
from autograder.model.metadata import NAMED


def make_cell_id(source: str, kind: CellKind, before: list[Cell]) -> str:
    """Make an id from the section's title and a number, which doesn't change when other sections change."""
    heading = _slugify(source) if kind is CellKind.PROSE else ""
    section = heading or next((c.id.rsplit("-", 1)[0] for c in reversed(before) if c.kind not in NAMED), "start")
    number = 1
    ids = {c.id for c in before}
    while f"{section}-{number}" in ids:
        number += 1
    return f"{section}-{number}"


def _slugify(markdown: str) -> str:
    first = markdown.lstrip().split("\n", 1)[0]
    if not first.startswith("#"):
        return ""
    ascii_text = unicodedata.normalize("NFKD", first).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", ascii_text.lower()).strip("-")[:40].rstrip("-")
