"""The labs of a course, which are the folders in source/, and what to say of a name that is none of them."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from autograder.errors import GradlabError


def list_assignments(course: Path) -> set[str]:
    """Their names."""
    return {path.name for path in (course / "source").glob("*") if path.is_dir()}


def refuse_unknown_lab(course: Path, lab: str) -> None:
    """Raise GradlabError where source/ has no lab of this name."""
    if lab not in (known := list_assignments(course)):
        raise GradlabError(
            f"no lab {lab!r} in {course}/source: check the name{suggest_nearest(lab, known)}, or gradlab build"
        )


def suggest_nearest(name: str, known: Iterable[str]) -> str:
    """The one of these that may be meant, as words in brackets."""
    found = get_close_matches(name, list(known), 1)
    return f" (the nearest is {found[0]})" if found else ""
