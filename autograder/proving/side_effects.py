"""Wrong answers with a side effect: the reference's result, and something left changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from autograder.proving.spoiled_results import Args, Function, Kwargs, Spoiler


def get_side_effects() -> dict[str, Spoiler]:
    """Return the spoilers by description."""
    return {
        "numbers of an argument changed": _change_numbers,
        "a list or dict among the arguments emptied": _empty_container,
        "a .grad left in the arguments": _leave_gradient,
        "the grad mode switched": _change_grad_mode,
        "the default dtype left at float64": _set_default_dtype,
        "every result in the same memory": _ResultBuffer(),
    }


def _change_numbers(function: Function, args: Args, kwargs: Kwargs) -> tuple[Any, bool]:
    result = tree_map(_copy, function(*args, **kwargs))
    changed = False
    with torch.no_grad():
        for value in tree_leaves((args, kwargs)):
            if isinstance(value, Tensor) and value.numel() and not _is_expanded(value):
                value.logical_not_() if value.dtype == torch.bool else value.add_(1)
                changed = True
            elif isinstance(value, np.ndarray) and value.size and value.flags.writeable and value.dtype.kind in "iufc":
                value += 1
                changed = True
    return result, changed


def _empty_container(function: Function, args: Args, kwargs: Kwargs) -> tuple[Any, bool]:
    result = function(*args, **kwargs)
    containers = [value for value in (*args, *kwargs.values()) if isinstance(value, list | dict) and value]
    for container in containers:
        container.clear()
    return result, bool(containers)


def _leave_gradient(function: Function, args: Args, kwargs: Kwargs) -> tuple[Any, bool]:
    result = function(*args, **kwargs)
    leaves = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor) and t.requires_grad and t.is_leaf]
    for t in leaves:
        t.grad = torch.full_like(t, 3.0)
    return result, bool(leaves)


def _change_grad_mode(function: Function, args: Args, kwargs: Kwargs) -> tuple[Any, bool]:
    result = function(*args, **kwargs)
    torch.set_grad_enabled(not torch.is_grad_enabled())
    return result, True


def _set_default_dtype(function: Function, args: Args, kwargs: Kwargs) -> tuple[Any, bool]:
    result = function(*args, **kwargs)
    torch.set_default_dtype(torch.float64)
    return result, True


class _ResultBuffer:
    """Returns tensors of equal form in the memory of the first one."""

    def __init__(self) -> None:
        self.buffers: dict[Any, Tensor] = {}

    def __call__(self, function: Function, args: Args, kwargs: Kwargs) -> tuple[Any, bool]:
        result = function(*args, **kwargs)
        changed = False

        def reuse(value: Any) -> Any:
            nonlocal changed
            if not isinstance(value, Tensor) or value.requires_grad or any(value is t for t in tree_leaves(args)):
                return value
            key = tuple(value.shape), value.dtype
            if key not in self.buffers:
                self.buffers[key] = value.clone()
                return self.buffers[key]
            changed = True
            return self.buffers[key].copy_(value)

        return tree_map(reuse, result), changed


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value.copy() if isinstance(value, np.ndarray) else value


def _is_expanded(t: Tensor) -> bool:
    return any(stride == 0 and size > 1 for stride, size in zip(t.stride(), t.shape, strict=True))
