"""The cells of each release of a lab, so later changes to the course don't count as the student's."""

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

    names_by_text: Mapping[str, str] = field(default_factory=dict)
    """Text of a released cell -> its name."""
    common_texts: frozenset[str] | None = None
    """The texts that all releases contained; None if unknown."""

    def is_newer(self, text: str) -> bool:
        """Return whether students who fetched the lab early may never have had a cell with this text."""
        return self.common_texts is not None and text not in self.common_texts


def get_releases_path(course: Path, lab: str) -> Path:
    return course / "results" / lab / ".releases.json"  # no student's result: their ids never begin with a dot


def save_release(course: Path, lab: str, released: NotebookNode) -> None:
    """Keep the texts of the released notebook, if this release is new."""
    cells = {get_cell_name(cell): cell.source.strip() for cell in released.cells}
    path = get_releases_path(course, lab)
    releases = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    if cells not in releases:
        write_atomically(path, json.dumps([*releases, cells], indent=1))


def read_release_bytes(course: Path, lab: str) -> bytes:
    """Read the saved releases as a task carries them; empty if there are none."""
    path = get_releases_path(course, lab)
    return path.read_bytes() if path.exists() else b""


@functools.lru_cache(maxsize=4)
def read_releases(content: bytes) -> Releases:
    if not content:
        return Releases()
    releases = json.loads(content)
    names_by_text = {text: name for release in releases for name, text in release.items() if text}
    return Releases(names_by_text, frozenset.intersection(*(frozenset(release.values()) for release in releases)))
