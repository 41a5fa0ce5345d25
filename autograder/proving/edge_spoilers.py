"""Wrong answers for an exercise with a domain: the reference, wrong in the trials with one edge.

The examiner turns a switch on before those trials, and off after them. So the reference is right in every other call,
even in one with equal arguments.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map

from autograder.proving.constant_objects import SPECIAL
from autograder.proving.shared_log import SharedLog
from autograder.proving.spoiled_results import Args, Function

WRONG_AT = "wrong at an edge"
ON, CHANGED = "on", "changed"  # lines of a switch's log


class EdgeSwitch:
    """Makes a reference's calls wrong while it's on. The examiner calls it with True or False."""

    def __init__(self) -> None:
        self.is_on, self._log = False, SharedLog()

    def __call__(self, is_on: bool) -> None:
        self.is_on = is_on
        if is_on:
            self._log.write(ON)

    @property
    def has_effect(self) -> bool:
        """Whether a call was wrong. Also true if it was never on, which is for a check to explain."""
        lines = self._log.read_lines()
        return CHANGED in lines or ON not in lines

    def wrap(self, function: Function, is_method: bool = False) -> Function:
        """Return a function that's wrong while this is on.

        Args:
            is_method: Whether its first argument is an object. A method that only changes it is then skipped.
        """
        skips = is_method and inspect.signature(function).return_annotation in (None, "None")

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not self.is_on:
                return function(*args, **kwargs)
            self._log.write(CHANGED)
            if skips:
                return None
            try:
                result = function(*args, **kwargs)
            except (Exception, KeyboardInterrupt):
                return None
            return spoil_result(result, (*args[is_method:], *kwargs.values()))

        return call

    def wrap_class(self, kind: type) -> type:
        """Return a subclass whose public methods are wrong while this is on.

        Only methods that the class itself defines, not those of its bases; of an autograd function, forward().
        """
        is_function = issubclass(kind, torch.autograd.Function)
        changed: dict[str, Any] = {}
        for name, member in vars(kind).items():
            if (is_function and name != "forward") or (name.startswith("_") and name not in SPECIAL):
                continue
            if isinstance(member, staticmethod):
                changed[name] = staticmethod(self.wrap(member.__func__))
            elif isinstance(member, types.FunctionType):
                changed[name] = self.wrap(member, is_method=True)
        return type(kind)(kind.__name__, (kind,), {**changed, "__module__": kind.__module__, "__doc__": kind.__doc__})


def spoil_result(result: Any, args: Args) -> Any:
    """Return another result for these arguments, or change them if the function returns None."""
    tensors = [leaf for leaf in tree_leaves(args) if isinstance(leaf, Tensor)]
    if result is None:
        changed = [t for leaf in tree_leaves(args) for t in _list_tensors(leaf)]
        _change_numbers(changed)
        return None if changed else True
    if isinstance(result, Iterator):
        return _spoil_items(result, args)
    if isinstance(result, contextlib.AbstractContextManager):
        return contextlib.nullcontext()
    if not tree_leaves(result):  # an empty tuple, list or dict
        return [None]
    return tree_map(lambda value: _shift(value, any(value is t for t in tensors)), result)


def _list_tensors(value: Any) -> list[Tensor]:
    """List the tensors of an argument: itself, or what a module or an optimizer holds."""
    if isinstance(value, nn.Module):
        return [*value.parameters(), *value.buffers()]
    if isinstance(value, torch.optim.Optimizer):
        return [parameter for group in value.param_groups for parameter in group["params"]]
    return [value] if isinstance(value, Tensor) else []


def _change_numbers(tensors: list[Tensor]) -> None:
    with torch.no_grad():
        for t in tensors:
            t.logical_not_() if t.dtype == torch.bool else t.add_(1)


def _spoil_items(items: Iterator[Any], args: Args) -> Iterator[Any]:
    """Yield other items, and a first one if there are none."""
    item = next(items, None)
    yield spoil_result(item, args)
    yield from (spoil_result(item, args) for item in items)


def _shift(value: Any, is_argument: bool) -> Any:
    """Return another value of the same type. An argument is changed in place, so it's still returned itself."""
    if isinstance(value, nn.Module):
        _change_numbers(_list_tensors(value))
        return value
    if isinstance(value, Tensor | np.ndarray) and not np.prod(value.shape):
        return value[None]
    if isinstance(value, Tensor) and value.dtype == torch.bool:
        return value.logical_not_() if is_argument else value.logical_not()
    if isinstance(value, Tensor):
        with torch.no_grad():
            other = _move_out_of_tolerance(value.nan_to_num(0, 0, 0)) if value.is_floating_point() else value + 1
            return value.copy_(other) if is_argument else other
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return _move_out_of_tolerance(value) if math.isfinite(value) else 1.0
    if isinstance(value, int | complex | np.ndarray):
        return value + 1
    return f"{value}?" if isinstance(value, str | torch.dtype | torch.device) else value


def _move_out_of_tolerance(value: Any) -> Any:
    """Return a number that's outside any tolerance of this one."""
    return value + abs(value) + 1
