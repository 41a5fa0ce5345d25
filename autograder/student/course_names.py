"""The course's names in a notebook, as the given cells left them: bound again before a check asks, and what was not so.

What is found is for the instructor, as something to ask about. A process that lies can hide it.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterable
from typing import Any

import torch

from labkit.probes import PROBES

MAX_NAMES = 20


class CourseNames:
    """Of one notebook, whose names are in `namespace`. Made before any cell of the student's runs."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self._kept: dict[str, Any] = {}
        self._libraries = [(place, vars(owner), dict(vars(owner))) for place, owner in _owners()]
        self._probes = dict(PROBES)

    def keep(self, names: Iterable[str]) -> None:
        """These names are the course's, as they are bound now."""
        self._kept |= {name: self.namespace[name] for name in names if name in self.namespace}

    def changed(self) -> list[str]:
        """Names that are bound to something else now, in the notebook and in the libraries, the first of them."""
        own = [name for name, value in self._kept.items() if self.namespace.get(name) is not value]
        patched = [
            f"{place}.{name}"
            for place, now, before in self._libraries
            for name, value in before.items()
            if now.get(name) is not value and not name.startswith("__")
        ]
        return [*own, *patched][:MAX_NAMES]

    def restore(self) -> None:
        """Bind the course's names, and those of labkit, as they were."""
        self.namespace |= self._kept
        PROBES.clear()
        PROBES.update(self._probes)
        for place, now, before in self._libraries:
            if place.startswith("labkit"):
                now.update(before)


def _owners() -> list[tuple[str, Any]]:
    modules = [(name, module) for name, module in sorted(sys.modules.items()) if name.split(".")[0] == "labkit"]
    return [*modules, ("torch", torch), ("torch.nn.functional", torch.nn.functional), ("builtins", builtins)]
