"""Wrong answers that gradlab makes itself, for every exercise that is a function.

Each is the reference with its result spoiled in one way. A spoiler that changes nothing (casting a result that is no
tensor, say) proves nothing and is not counted.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_map

Function = Callable[..., Any]


class Spoiled:
    """A function in place of the reference. `applied` says whether a result ever changed."""

    def __init__(self, reference: Function, spoil: Callable[[Any, tuple[Any, ...]], Any]) -> None:
        self.reference, self.spoil, self.applied = reference, spoil, False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self.reference(*args, **kwargs)
        spoiled = self.spoil(result, (*args, *kwargs.values()))
        self.applied = self.applied or spoiled is not result
        return spoiled


class HardCoded:
    """What a student could write who only wants the visible checks to pass: their results, by order of the calls."""

    def __init__(self, reference: Function, visible_calls: int) -> None:
        self.reference, self.visible_calls = reference, visible_calls
        self.seen: list[Any] = []
        self.applied = visible_calls > 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(self.seen) < self.visible_calls:
            result = self.reference(*args, **kwargs)
            self.seen.append(_copy(result))
            return result
        return _copy(self.seen[0])


def spoilers() -> dict[str, Callable[[Any, tuple[Any, ...]], Any]]:
    """Description -> spoiler: from a result and the call's arguments to a wrong result."""
    return {
        "the argument handed back": lambda result, args: args[0] if args else result,
        "zeros": lambda result, _: _mapped(result, _zero),
        "None": lambda *_: None,
        "the result detached": lambda result, _: _mapped(result, _detached),
        "the result cast to float64": lambda result, _: _mapped(result, _double),
        "the result with one dimension more": lambda result, _: _mapped(result, _unsqueezed),
    }


def _mapped(result: Any, change: Callable[[Any], Any]) -> Any:
    changed = False

    def leaf(value: Any) -> Any:
        nonlocal changed
        new = change(value)
        changed = changed or new is not value
        return new

    mapped = tree_map(leaf, result)
    return mapped if changed else result


def _zero(value: Any) -> Any:
    if isinstance(value, Tensor):
        return torch.zeros_like(value)
    if isinstance(value, np.ndarray):
        return np.zeros_like(value)
    return type(value)() if isinstance(value, bool | int | float | str) else value


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) and value.requires_grad else value


def _double(value: Any) -> Any:
    if isinstance(value, Tensor) and value.dtype.is_floating_point and value.dtype != torch.float64:
        return value.double()
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.dtype != np.float64:
        return value.astype(np.float64)
    return value


def _unsqueezed(value: Any) -> Any:
    return value[None] if isinstance(value, Tensor | np.ndarray) else value


def _copy(value: Any) -> Any:
    return tree_map(lambda v: v.detach().clone() if isinstance(v, Tensor) else copy.deepcopy(v), value)
