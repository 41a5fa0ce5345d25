"""Finds what packages provide by entry points: learning management systems, executors, exporters."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import TypeVar

from autograder.base.errors import GradlabError

Kind = TypeVar("Kind")
FIX = "update this package, or uninstall it"


def list_names(*groups: str) -> list[str]:
    """List the names in these groups, of Gradlab's own objects and of those that other installed packages provide."""
    return sorted({entry.name for group in groups for entry in entry_points(group=group)})


def load_entry_point(group: str, name: str, kind: type[Kind], names: Sequence[str] = ()) -> Kind:
    """Import the object of this name.

    Args:
        names: The valid names for the error message, if they aren't only this group's.

    Raises:
        GradlabError: If there isn't exactly one, or it isn't of this kind.
    """
    entries = entry_points(group=group, name=name)
    packages = ", ".join(sorted(entry.dist.name for entry in entries if entry.dist))
    if len(entries) != 1:
        several, none = f"several packages provide {name!r}: {packages}", f"no package provides {name!r} in {group}"
        valid = ", ".join(names or list_names(group))
        raise GradlabError(several if entries else none, fix=f"name one of {valid}")
    (entry,) = entries
    try:
        loaded = entry.load()
    except Exception as error:
        raise GradlabError(f"{entry.value} of the package {packages} can't be loaded: {error}", fix=FIX) from error
    if not isinstance(loaded, kind):
        raise GradlabError(f"{entry.value} of the package {packages} isn't a {kind.__name__}", fix=FIX)
    return loaded
