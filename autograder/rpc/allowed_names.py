"""Callables and types by name: torch's own and Python's, the same object on both sides.

A check may pass many: the student process calls them, in its sandbox. What comes back is called by the examiner: only
the names in pure_names.py.
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
from autograder.rpc.pure_names import is_pure
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
# What reads or writes files, starts something or changes the whole process: a name that comes back gets called.
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
    "labkit.probes.dispatch": {"ProbeError": ProbeError},
}
PROBE = "probe "  # before the name of a probe, where the target of a call is no name of the notebook's
GIVEN = "given "  # before a name of the course's own in the notebook


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


# Made once, at import, so that forks share them.
_NAMED = _collect_callables()
_NAMES = {id(value): name for name, value in reversed(_NAMED.items())}
# What a student's function may hand back by its name, and so what the examiner may come to call.
_HANDED_BACK = frozenset(name for name in _NAMED if is_pure(name))


def find_name(value: Any) -> str | None:
    """The name by which the other side knows this callable, or None."""
    name = _NAMES.get(id(value))
    return name if name is not None and _NAMED[name] is value else None


def get_named(name: str) -> Any:
    """The callable of this name. Only what name_of gives is found: a name runs nothing and imports nothing."""
    if name not in _NAMED:
        raise ProtocolError(f"no callable {name[:60]!r}")
    return _NAMED[name]


def find_pure_name(value: Any) -> str | None:
    """As name_of, but of a function that neither writes, reads, starts nor keeps anything; else None."""
    name = find_name(value)
    return name if name in _HANDED_BACK else None


def get_pure_named(name: str) -> Any:
    """What name_of_pure gave this name for. Raises ProtocolError."""
    if name not in _HANDED_BACK:
        raise ProtocolError("no callable of this name")
    return _NAMED[name]


def find_probe_name(value: Any) -> str | None:
    """The name by which the other side knows this probe of labkit's, or None."""
    name: str = getattr(value, "__name__", "")
    return name if PROBES.get(name) is value else None


def get_probe(name: str) -> Any:
    """labkit's probe of this name. Raises NameError."""
    if name not in PROBES:
        raise NameError(f"no probe {name[:60]!r}")
    return PROBES[name]


def find_exception_type(names: Sequence[str], given: Mapping[str, Any]) -> type[Exception]:
    """The nearest type of these that is built-in, torch's, NumPy's or the course's own (given); else RuntimeError."""
    for name in names:
        module, _, last = name.rpartition(".")
        owner = given if module == "__main__" else EXCEPTIONS.get(module, {})
        found = (owner if isinstance(owner, Mapping) else vars(owner)).get(last)
        if isinstance(found, type) and issubclass(found, Exception):
            return found
    return RuntimeError


def list_type_names(kind: type) -> list[str]:
    """The qualified names of a type and its bases, the nearest first."""
    return [f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__[:20]]
