"""Restores the course's names in a notebook before a check calls it, and reports those that were changed.

The report is for the instructor, who may ask the student about it. A process that lies can hide a change.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

import torch

from labkit.probes import PROBES

MAX_NAMES = 20
FUNCTION_PARTS = ("__code__", "__defaults__", "__kwdefaults__")


class CourseNames:
    """The course's names in one notebook. Created before any of the student's cells runs."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self._values: dict[str, Any] = {}
        self._functions: dict[str, list[_FunctionContents]] = {}
        self._libraries = [(path, vars(owner), dict(vars(owner))) for path, owner in _list_owners()]
        self._probes = dict(PROBES)
        self._patched: dict[str, None] = {}  # names of labkit that were patched before a given cell ran

    def protect(self, names: Iterable[str]) -> None:
        """Remember what these names are bound to now, to restore it."""
        values = {name: self.namespace[name] for name in names if name in self.namespace}
        self._values |= values
        self._functions |= {
            name: [_FunctionContents(function) for function in _iter_functions(value)] for name, value in values.items()
        }

    def list_changed(self) -> list[str]:
        """Return the first MAX_NAMES names that are bound to something else now, in the notebook and in libraries.

        Includes course functions whose code, defaults or closure changed.
        """
        names = [name for name, value in self._values.items() if self.namespace.get(name) is not value]
        names += [name for name, functions in self._functions.items() if any(f.has_changed() for f in functions)]
        return list(dict.fromkeys([*names, *self._patched, *self._find_patched()]))[:MAX_NAMES]

    def restore(self) -> None:
        """Restore the names of the course and of labkit."""
        self.namespace |= self._values
        for functions in self._functions.values():
            for function in functions:
                function.restore()
        self.restore_labkit()

    def restore_labkit(self) -> None:
        """Restore labkit's names. Also used before a given cell, whose functions may use labkit's."""
        self._patched |= dict.fromkeys(self._find_patched("labkit"))
        PROBES.clear()
        PROBES.update(self._probes)
        for path, names, original in self._libraries:
            if path.startswith("labkit"):
                names.update(original)

    def _find_patched(self, library: str = "") -> list[str]:
        return [
            f"{path}.{name}"
            for path, names, original in self._libraries
            if path.startswith(library)
            for name, value in original.items()
            if names.get(name) is not value and not name.startswith("__")
        ]


class _FunctionContents:
    """The parts of a function that can be changed: its code, its defaults, and the functions in its closure."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.before = [getattr(function, name) for name in FUNCTION_PARTS]
        closure = [(cell, _get_content(cell)) for cell in function.__closure__ or ()]
        self.cells = [(cell, content) for cell, content in closure if isinstance(content, FunctionType)]

    def has_changed(self) -> bool:
        parts = zip(FUNCTION_PARTS, self.before, strict=True)
        return any(getattr(self.function, name) is not value for name, value in parts) or any(
            _get_content(cell) is not content for cell, content in self.cells
        )

    def restore(self) -> None:
        for name, value in zip(FUNCTION_PARTS, self.before, strict=True):
            setattr(self.function, name, value)
        for cell, content in self.cells:
            cell.cell_contents = content


def _get_content(cell: Any) -> Any:
    """Return the content of a closure's cell, or None if it's empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _iter_functions(value: Any) -> Iterator[FunctionType]:
    """Yield a function and those that it wraps, or the methods of a class."""
    if isinstance(value, type):
        for member in vars(value).values():
            yield from _iter_functions(getattr(member, "__func__", member) if not isinstance(member, type) else None)
        return
    while isinstance(value, FunctionType):
        yield value
        value = getattr(value, "__wrapped__", None)


def _list_owners() -> list[tuple[str, Any]]:
    modules = [(name, module) for name, module in sorted(sys.modules.items()) if name.split(".")[0] == "labkit"]
    return [*modules, ("torch", torch), ("torch.nn.functional", torch.nn.functional), ("builtins", builtins)]
