"""Wrong answers that gradlab makes for every exercise.

Each runs the reference and spoils its result in one way; for a class, it spoils the results of its methods. A spoiler
that changes nothing, for instance a cast of a result that isn't a tensor, proves nothing and isn't counted.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from autograder.proving.constant_objects import (
    AlwaysTrue,
    Change,
    is_object,
    repeat_first_answer,
    replace_methods,
    replace_with_true,
)
from autograder.proving.ruined_arguments import RUINS, compute_ruined_result
from autograder.proving.shared_log import SharedLog

HARD_CODED = "the results of the visible checks, hard-coded"
METHODS: dict[str, Change] = {
    "an object whose methods all return True": replace_with_true,
    "an object whose methods repeat their first result": repeat_first_answer,
}

Function = Callable[..., Any]
Args = tuple[Any, ...]
Kwargs = dict[str, Any]
# Takes a function and a call's arguments. Returns a result, and whether it differs from the function's.
Spoiler = Callable[[Function, Args, Kwargs], tuple[Any, bool]]


class SpoiledFunction:
    """A function that spoils the reference's results."""

    def __init__(self, reference: Function, spoil: Spoiler) -> None:
        self.reference, self.spoil, self._notes = reference, spoil, SharedLog()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result, changed = self.spoil(self.reference, args, kwargs)
        if changed:
            self._notes.write("changed")
        return result

    @property
    def has_effect(self) -> bool:
        """Whether it ever differed from the reference."""
        return bool(self._notes.read_lines())


class HardCodedFunction:
    """A function that passes only the visible checks: it returns their results in the order of the calls."""

    def __init__(self, reference: Function, visible_calls: int) -> None:
        self.reference, self.visible_calls = reference, visible_calls
        self.results: list[Any] = []
        self.has_effect = visible_calls > 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(self.results) < self.visible_calls:
            result = self.reference(*args, **kwargs)
            self.results.append(_copy(result))
            return result
        return _copy(self.results[0])


def get_spoilers() -> dict[str, Spoiler]:
    """Return the spoilers by description."""
    return {
        "the first argument returned": _return_first_argument,
        "zeros": functools.partial(_map_result, _zero),
        "None": lambda *_: (None, True),
        "an object that returns True for everything": lambda *_: (AlwaysTrue(), True),
        "the result detached": functools.partial(_map_result, _detach),
        "the result cast to float64": functools.partial(_map_result, _double),
        "the result with one dimension more": functools.partial(_map_result, _unsqueeze),
        **{label: _make_method_spoiler(change) for label, change in METHODS.items()},
        **{f"its {label}, then the reference": functools.partial(compute_ruined_result, label) for label in RUINS},
    }


def _return_first_argument(function: Function, args: Args, kwargs: Kwargs) -> tuple[Any, bool]:
    """Return an argument without calling the function, so its arguments don't change either."""
    values = [*args, *kwargs.values()]
    return (values[0], True) if values else (function(), False)


def _map_result(change: Callable[[Any], Any], function: Function, args: Args, kwargs: Kwargs) -> tuple[Any, bool]:
    result = function(*args, **kwargs)
    leaves, structure = tree_flatten(result)
    changed = [change(leaf) for leaf in leaves]
    differs = any(new is not old for new, old in zip(changed, leaves, strict=True))
    return (tree_unflatten(changed, structure), True) if differs else (result, False)


def _zero(value: Any) -> Any:
    if isinstance(value, Tensor):
        return torch.zeros_like(value)
    if isinstance(value, np.ndarray):
        return np.zeros_like(value)
    return type(value)() if isinstance(value, bool | int | float | str) else value


def _detach(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) and value.requires_grad else value


def _double(value: Any) -> Any:
    if isinstance(value, Tensor) and value.dtype.is_floating_point and value.dtype != torch.float64:
        return value.double()
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.dtype != np.float64:
        return value.astype(np.float64)
    return value


def _unsqueeze(value: Any) -> Any:
    return value[None] if isinstance(value, Tensor | np.ndarray) else value


def _make_method_spoiler(change: Change) -> Spoiler:
    return functools.partial(_map_result, lambda value: replace_methods(change, value) if is_object(value) else value)


def _copy(value: Any) -> Any:
    return tree_map(lambda v: v.detach().clone() if isinstance(v, Tensor) else copy.deepcopy(v), value)
