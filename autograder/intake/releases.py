"""The cells of each release of a lab, so what the course changed later doesn't count as the student's change."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nbformat import NotebookNode

from autograder.base.atomic_files import write_atomically
from autograder.model.metadata import get_cell_name


@dataclass(frozen=True)
class Releases:
    """What a lab's releases contained."""

    named: Mapping[str, str] = field(default_factory=dict)
    """The name of the cell that was released with each text, by text."""
    always: frozenset[str] | None = None
    """The texts that every release had; None if that isn't known."""

    def is_newer(self, text: str) -> bool:
        """Whether students who fetched the lab early may never have had a cell with this text."""
        return self.always is not None and text not in self.always


def get_releases_path(course: Path, lab: str) -> Path:
    return course / "results" / lab / ".releases.json"  # not a student's, whose ids never begin with a dot


def save_release(course: Path, lab: str, released: NotebookNode) -> None:
    """Keep the texts of the student's notebook, if this release is a new one."""
    cells = {get_cell_name(cell): cell.source.strip() for cell in released.cells}
    path = get_releases_path(course, lab)
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    if cells in known:
        return
    write_atomically(path, json.dumps([*known, cells], indent=1))


def read_release_bytes(course: Path, lab: str) -> bytes:
    """What is remembered, as a task carries it; empty if there is nothing."""
    path = get_releases_path(course, lab)
    return path.read_bytes() if path.exists() else b""


@functools.lru_cache(maxsize=4)
def read_releases(content: bytes) -> Releases:
    if not content:
        return Releases()
    known = json.loads(content)
    named = {text: name for release in known for name, text in release.items() if text}
    return Releases(named, frozenset.intersection(*(frozenset(release.values()) for release in known)))
