"""Finds what packages offer by entry points: learning management systems, executors, exporters."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import TypeVar

from autograder.base.errors import GradlabError

Kind = TypeVar("Kind")


def list_names(*groups: str) -> list[str]:
    """Names in these groups, of Gradlab's own objects and of those that other installed packages bring."""
    return sorted({entry.name for group in groups for entry in entry_points(group=group)})


def load(group: str, name: str, kind: type[Kind], names: Sequence[str] = ()) -> Kind:
    """Import the object of this name. Raises GradlabError if there isn't exactly one, or it isn't of this kind.

    names: what to name instead, if there's more than this group.
    """
    found = entry_points(group=group, name=name)
    packages = ", ".join(sorted(entry.dist.name for entry in found if entry.dist))
    if len(found) != 1:
        problem = f"several packages bring {name!r}: {packages}" if found else f"no package brings {name!r} in {group}"
        raise GradlabError(f"{problem}\n    fix: name one of {', '.join(names or list_names(group))}")
    (entry,) = found
    try:
        loaded = entry.load()
    except Exception as error:
        raise GradlabError(f"{entry.value} of the package {packages} can't be loaded: {error}") from error
    if not isinstance(loaded, kind):
        raise GradlabError(f"{entry.value} of the package {packages} is no {kind.__name__}")
    return loaded
