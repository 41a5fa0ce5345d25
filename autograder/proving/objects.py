"""Objects whose methods all give one answer, such as a student could hand in to make every comparison succeed."""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from torch import Tensor

Method = Callable[..., Any]
Change = Callable[[Method], Method]
VALUES = (bool, int, float, complex, str, bytes, list, tuple, dict, set, type(None), Tensor, np.ndarray, np.generic)
TORCH_VALUES = (torch.dtype, torch.device, torch.Size, torch.Generator)
SPECIAL = {"__call__", "__len__", "__getitem__", "__contains__", "__iter__", "__next__", "__eq__", "__bool__"}


class AlwaysTrue:
    """Agrees with everything that it is compared with."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return replace_with_true(self)

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    def __lt__(self, other: object) -> bool:
        return True

    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    __hash__ = object.__hash__

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Any]:
        return iter([self])

    def __getitem__(self, key: Any) -> Any:
        return self


def is_object(value: Any) -> bool:
    """Whether it matters for its methods: a function, a class, or an instance of a class.

    Not a context manager: a block uses what Python itself calls at both its ends, and none of its other methods.
    """
    return not isinstance(value, VALUES + TORCH_VALUES) and not isinstance(value, AbstractContextManager)


def replace_with_true(method: Method) -> Method:
    return lambda *args, **kwargs: True


def repeat_first_answer(method: Method) -> Method:
    """A method that repeats its first answer each time."""
    said: list[Any] = []

    @functools.wraps(method)
    def repeat(*args: Any, **kwargs: Any) -> Any:
        if not said:
            said.append(method(*args, **kwargs))
        return said[0]

    return repeat


def replace_methods(change: Change, value: Any) -> Any:
    """A copy of a function, class or object with other methods. An object of a built-in class stays as it is."""
    if isinstance(value, type):
        return _make_subclass(value, change)
    if isinstance(value, types.FunctionType | types.MethodType | functools.partial):
        return change(value)
    try:
        other = copy.copy(value)
        other.__class__ = _make_subclass(type(value), change)
    except Exception:  # a built-in class, one of slots, an object that cannot be copied
        return value
    return other


def _make_subclass(kind: type, change: Change) -> type:
    members = {name: member for base in reversed(kind.__mro__[:-1]) for name, member in vars(base).items()}
    made: dict[str, Any] = {}
    for name, member in members.items():
        if name.startswith("_") and name not in SPECIAL:
            continue
        if isinstance(member, staticmethod | classmethod):
            made[name] = type(member)(change(member.__func__))
        elif isinstance(member, types.FunctionType):
            made[name] = change(member)
    return type(kind)(kind.__name__, (kind,), {**made, "__module__": kind.__module__})
