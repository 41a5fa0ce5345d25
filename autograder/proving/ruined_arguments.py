"""Ruins arguments in place before a function gets them, so an expected value computed afterwards is ruined too."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

Function = Callable[..., Any]
Args = Sequence[Any]
Kwargs = Mapping[str, Any]
VALUES = (bool, int, float, complex, str, bytes, type(None))
MAX_DEPTH = 5


def compute_ruined_result(label: str, function: Function, args: Args, kwargs: Kwargs) -> tuple[Any, bool]:
    """Return the function's result for ruined arguments and True, or None and False if that doesn't differ.

    Args:
        label: The name of one of the RUINS.
        function: The function, called twice: with the arguments as they are, and ruined.
    """
    first = function(*args, **kwargs)
    if not ruin_arguments(label, args, kwargs):
        return None, False
    second = function(*args, **kwargs)
    return (None, False) if _is_same(first, second) else (second, True)


def _is_same(first: Any, second: Any) -> bool:
    """Return whether these are equal values. Objects count as different."""
    first_leaves, second_leaves = tree_leaves(first), tree_leaves(second)
    return len(first_leaves) == len(second_leaves) and all(map(_is_equal, first_leaves, second_leaves))


def _is_equal(first: Any, second: Any) -> bool:
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        return first.shape == second.shape and first.dtype == second.dtype and torch.equal(first, second)
    return isinstance(first, VALUES) and type(first) is type(second) and first == second


def ruin_arguments(label: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Ruin these arguments in place by one of the RUINS. Returns whether anything changed."""
    changes = [_apply_nested(value, RUINS[label], 0) for value in (*args, *kwargs.values())]
    return any(changes)


def _apply_nested(value: Any, change: Callable[[Any], bool], depth: int) -> bool:
    """Change the items of a value, then the value. Returns whether anything changed."""
    items: Any = ()
    if depth < MAX_DEPTH and isinstance(value, list | tuple):
        items = list(value)
    elif depth < MAX_DEPTH and isinstance(value, dict):
        items = list(value.values())
    changes = [_apply_nested(item, change, depth + 1) for item in items]
    with contextlib.suppress(Exception):  # expanded memory, a read-only array, an immutable object
        return change(value) or any(changes)
    return any(changes)


def _fill(value: Any) -> bool:
    if isinstance(value, Tensor) and value.numel():
        with torch.no_grad():
            number = math.nan if value.dtype.is_floating_point or value.dtype.is_complex else 0
            before = value.detach().clone()
            value.detach().fill_(number)
            return not torch.equal(before, value.detach())
    if isinstance(value, np.ndarray) and value.size:
        value.fill(math.nan if value.dtype.kind in "fc" else 0)
        return True
    return False


def _shrink(value: Any) -> bool:
    if isinstance(value, Tensor) and value.dim() and len(value) > 1:
        value.data = value.data[:1]
        return True
    if isinstance(value, list) and len(value) > 1:
        del value[1:]
        return True
    return False


def _empty(value: Any) -> bool:
    if isinstance(value, Tensor) and value.dim() and len(value):
        value.data = value.data[:0]
        return True
    if isinstance(value, list | dict) and value:
        value.clear()
        return True
    return False


RUINS: dict[str, Callable[[Any], bool]] = {
    "arguments filled with NaN": _fill,
    "arguments cut to one": _shrink,
    "arguments emptied": _empty,
}
