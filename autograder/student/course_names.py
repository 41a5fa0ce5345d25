"""The course's names in a notebook, as the given cells left them: bound again before a check asks, and what was not so.

What is found is for the instructor, as something to ask about. A process that lies can hide it.
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
MADE_OF = ("__code__", "__defaults__", "__kwdefaults__")


class CourseNames:
    """Of one notebook, whose names are in `namespace`. Made before any cell of the student's runs."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self._kept: dict[str, Any] = {}
        self._insides: dict[str, list[_FunctionContents]] = {}
        self._libraries = [(place, vars(owner), dict(vars(owner))) for place, owner in _list_owners()]
        self._probes = dict(PROBES)
        self._found: dict[str, None] = {}  # in labkit, before a given cell ran

    def keep(self, names: Iterable[str]) -> None:
        """These names are the course's, as they are bound now."""
        kept = {name: self.namespace[name] for name in names if name in self.namespace}
        self._kept |= kept
        self._insides |= {
            name: [_FunctionContents(function) for function in _iter_functions(value)] for name, value in kept.items()
        }

    def changed(self) -> list[str]:
        """Names that are bound to something else now, in the notebook and in the libraries, the first of them.

        A function of the course's whose code, defaults or closure is another counts as its name.
        """
        own = [name for name, value in self._kept.items() if self.namespace.get(name) is not value]
        own += [name for name, insides in self._insides.items() if any(inside.changed() for inside in insides)]
        return list(dict.fromkeys([*own, *self._found, *self._find_patched()]))[:MAX_NAMES]

    def restore(self) -> None:
        """Bind the course's names, and those of labkit, as they were."""
        self.namespace |= self._kept
        for insides in self._insides.values():
            for inside in insides:
                inside.restore()
        self.restore_labkit()

    def restore_labkit(self) -> None:
        """Bind labkit's names as they were. Before a given cell too: it may make its functions with labkit's."""
        self._found |= dict.fromkeys(self._find_patched("labkit"))
        PROBES.clear()
        PROBES.update(self._probes)
        for place, now, before in self._libraries:
            if place.startswith("labkit"):
                now.update(before)

    def _find_patched(self, library: str = "") -> list[str]:
        return [
            f"{place}.{name}"
            for place, now, before in self._libraries
            if place.startswith(library)
            for name, value in before.items()
            if now.get(name) is not value and not name.startswith("__")
        ]


class _FunctionContents:
    """What a function is made of: its code, defaults, and the functions that its closure holds."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.before = [getattr(function, name) for name in MADE_OF]
        closure = [(cell, _get_content(cell)) for cell in function.__closure__ or ()]
        self.cells = [(cell, content) for cell, content in closure if isinstance(content, FunctionType)]

    def changed(self) -> bool:
        parts = zip(MADE_OF, self.before, strict=True)
        return any(getattr(self.function, name) is not value for name, value in parts) or any(
            _get_content(cell) is not content for cell, content in self.cells
        )

    def restore(self) -> None:
        for name, value in zip(MADE_OF, self.before, strict=True):
            setattr(self.function, name, value)
        for cell, content in self.cells:
            cell.cell_contents = content


def _get_content(cell: Any) -> Any:
    """None for a cell that was never filled."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _iter_functions(value: Any) -> Iterator[FunctionType]:
    """The function itself and those that it wraps; of a class its methods."""
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
