"""Callables and types of torch and Python that are sent by name, and mean the same object on both sides.

A check may pass many of them, since the student process calls them in its sandbox. A student process may only return
those in pure_names.py, since the examiner calls them.
"""

from __future__ import annotations

import builtins
import math
import operator
import re
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import torch
import torch.utils.checkpoint

from autograder.rpc.frames import ProtocolError
from autograder.rpc.pure_names import is_pure_name
from labkit.probes import PROBES, ProbeError

MODULES: dict[str, Any] = {
    "torch": torch,
    "torch.nn.functional": torch.nn.functional,
    "torch.nn": torch.nn,
    "torch.nn.init": torch.nn.init,
    "torch.optim": torch.optim,
    "torch.linalg": torch.linalg,
    "torch.fft": torch.fft,
    "torch.special": torch.special,
    "torch.Tensor": torch.Tensor,
    "torch.TensorBase": torch._C.TensorBase,
    "math": math,
    "operator": operator,
}
SAFE_BUILTINS = set("abs len max min sum sorted round float int bool str list tuple dict set complex".split())
# Callables that read or write files, start something or change the whole process.
REFUSED = re.compile(r"load|save|compile|hub|jit|export|import|file|^set_|^use_|seed|fork|thread|share_memory|^_")
EXCEPTIONS: dict[str, Any] = {
    "builtins": builtins,
    "torch": torch,
    "torch.cuda": torch,
    "torch._C": {"_LinAlgError": vars(torch.linalg)["LinAlgError"]},
    "torch.autograd.gradcheck": sys.modules["torch.autograd.gradcheck"],  # torch.autograd.gradcheck is its function
    "torch.utils.checkpoint": torch.utils.checkpoint,
    "numpy.exceptions": np.exceptions,
    "numpy.linalg": np.linalg,
    "labkit.probes.probe_definition": {"ProbeError": ProbeError},
}
PROBE = "probe "  # prefix of a probe's name, as the target of a call
GIVEN = "given "  # prefix of a name that a given cell defines


def _collect_callables() -> dict[str, Any]:
    table = {f"builtins.{name}": getattr(builtins, name) for name in SAFE_BUILTINS}
    for path, owner in MODULES.items():
        for name, value in vars(owner).items():
            if callable(value) and not REFUSED.search(name) and not isinstance(value, ModuleType):
                table[f"{path}.{name}"] = value
    for name, value in vars(np).items():
        if isinstance(value, np.ufunc) or (isinstance(value, type) and issubclass(value, np.generic)):
            table[f"numpy.{name}"] = value
    for name, value in vars(builtins).items():
        if isinstance(value, type) and issubclass(value, Exception):
            table[f"builtins.{name}"] = value
    return table


# Built at import, so forks share them.
_CALLABLES = _collect_callables()
_NAMES = {id(value): name for name, value in reversed(_CALLABLES.items())}
# Those that a student's function may return, and so the examiner may call.
_PURE_NAMES = frozenset(name for name in _CALLABLES if is_pure_name(name))


def find_name(value: Any) -> str | None:
    """Return the name by which the other side knows this callable, or None."""
    name = _NAMES.get(id(value))
    return name if name is not None and _CALLABLES[name] is value else None


def get_named(name: str) -> Any:
    """Return the callable of this name, if find_name() can return it. Nothing is run or imported for a name."""
    if name not in _CALLABLES:
        raise ProtocolError(f"no callable {name[:60]!r}")
    return _CALLABLES[name]


def find_pure_name(value: Any) -> str | None:
    """Return the name of a function that neither writes, reads, starts nor keeps anything; None for any other."""
    name = find_name(value)
    return name if name in _PURE_NAMES else None


def get_pure_named(name: str) -> Any:
    """Return the callable of this name, if find_pure_name() can return it. Raises ProtocolError."""
    if name not in _PURE_NAMES:
        raise ProtocolError("no callable of this name")
    return _CALLABLES[name]


def find_probe_name(value: Any) -> str | None:
    """Return the name of this labkit probe, or None if it isn't one."""
    name: str = getattr(value, "__name__", "")
    return name if PROBES.get(name) is value else None


def get_probe(name: str) -> Any:
    """Return labkit's probe of this name. Raises NameError."""
    if name not in PROBES:
        raise NameError(f"no probe {name[:60]!r}")
    return PROBES[name]


def find_exception_type(names: Sequence[str], given: Mapping[str, Any]) -> type[Exception]:
    """Return the first type of these that is built-in, torch's, NumPy's or the course's (given); else RuntimeError."""
    for name in names:
        module, _, last = name.rpartition(".")
        owner = given if module == "__main__" else EXCEPTIONS.get(module, {})
        kind = (owner if isinstance(owner, Mapping) else vars(owner)).get(last)
        if isinstance(kind, type) and issubclass(kind, Exception):
            return kind
    return RuntimeError


def list_type_names(kind: type) -> list[str]:
    """Return the qualified names of a type and its bases, the nearest first."""
    return [f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__[:20]]
