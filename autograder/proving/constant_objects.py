"""Objects whose methods always return one answer, which could make every comparison succeed."""

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
    """Equals everything that it's compared with."""

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
    """Return whether a value is used through its methods: a function, a class, or an instance of a class.

    Not a context manager: a with block only uses the two methods that Python calls.
    """
    return not isinstance(value, VALUES + TORCH_VALUES) and not isinstance(value, AbstractContextManager)


def replace_with_true(method: Method) -> Method:
    return lambda *args, **kwargs: True


def repeat_first_answer(method: Method) -> Method:
    """Make a method that always returns its first answer."""
    answers: list[Any] = []

    @functools.wraps(method)
    def repeat(*args: Any, **kwargs: Any) -> Any:
        if not answers:
            answers.append(method(*args, **kwargs))
        return answers[0]

    return repeat


def replace_methods(change: Change, value: Any) -> Any:
    """Copy a function, class or object and change its methods. An object of a built-in class stays as it is."""
    if isinstance(value, type):
        return _make_subclass(value, change)
    if isinstance(value, types.FunctionType | types.MethodType | functools.partial):
        return change(value)
    try:
        result = copy.copy(value)
        result.__class__ = _make_subclass(type(value), change)
    except Exception:  # a built-in class, one with slots, an object that can't be copied
        return value
    return result


def _make_subclass(kind: type, change: Change) -> type:
    members = {name: member for base in reversed(kind.__mro__[:-1]) for name, member in vars(base).items()}
    changed: dict[str, Any] = {}
    for name, member in members.items():
        if name.startswith("_") and name not in SPECIAL:
            continue
        if isinstance(member, staticmethod | classmethod):
            changed[name] = type(member)(change(member.__func__))
        elif isinstance(member, types.FunctionType):
            changed[name] = change(member)
    return type(kind)(kind.__name__, (kind,), {**changed, "__module__": kind.__module__})
