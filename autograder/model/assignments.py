"""Finds the assignments of a course, which are the folders in source/, and explains unknown names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path

from autograder.base.errors import GradlabError
from autograder.model.metadata import KEY


class AssignmentKind(StrEnum):
    """Which tool an assignment was made for."""

    LAB = "lab"
    """Made by Gradlab's builder from labs/."""
    STOCK = "stock"
    """Made for stock nbgrader."""


def list_assignments(course: Path) -> set[str]:
    """List the names of the course's assignments."""
    return {path.name for path in (course / "source").glob("*") if path.is_dir()}


def list_source_notebooks(course: Path, name: str) -> list[Path]:
    """List the notebooks of the folder source/NAME, sorted by name."""
    return sorted(path for path in (course / "source" / name).glob("*.ipynb") if path.is_file())


def find_kind(course: Path, name: str) -> AssignmentKind:
    """Find an assignment's kind. It's stock if it has notebooks in source/NAME, and Gradlab's builder made none."""
    notebooks = list_source_notebooks(course, name)
    is_stock = bool(notebooks) and not any(_is_built(path) for path in notebooks)
    return AssignmentKind.STOCK if is_stock else AssignmentKind.LAB


def get_result_kind(notebooks: Sequence[str]) -> AssignmentKind:
    """Return the kind of assignment of a result with these names: only a stock assignment's names its notebooks."""
    return AssignmentKind.STOCK if notebooks else AssignmentKind.LAB


def require_source(course: Path, name: str) -> None:
    """Raise GradlabError if source/NAME holds no notebook."""
    refuse_unknown_lab(course, name)
    if not list_source_notebooks(course, name):
        raise GradlabError(f"no notebook in {course}/source/{name}", fix="run gradlab build")


def _is_built(path: Path) -> bool:
    try:
        return KEY in json.loads(path.read_bytes()).get("metadata", {})
    except (ValueError, AttributeError) as error:
        raise GradlabError(f"{path} isn't a notebook: {error}", fix="restore it, or run gradlab build") from None


def refuse_unknown_lab(course: Path, lab: str) -> None:
    """Raise GradlabError if source/ has no lab of this name."""
    if lab not in (known := list_assignments(course)):
        raise GradlabError(
            f"no lab {lab!r} in {course}/source",
            fix=f"check the name{suggest_nearest(lab, known)}, or run gradlab build",
        )


def suggest_nearest(name: str, known: Iterable[str]) -> str:
    """Suggest the most similar known name, in brackets; empty without a similar one."""
    matches = get_close_matches(name, list(known), 1)
    return f" (did you mean {matches[0]}?)" if matches else ""
