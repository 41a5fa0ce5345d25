"""Calls that must leave their arguments unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from labkit.comparison import Mismatch, assert_close
from labkit.value_text import show_key


@dataclass(frozen=True)
class Keys:
    """The keys of a dict, in order. Messages don't name them: they can belong to a hidden input."""

    keys: tuple[Any, ...]


def unchanged(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call the function, return its result, and raise AssertionError if an argument has changed.

    It compares tensors (values, dtype, requires_grad, retains_grad, .grad), arrays, numbers and strings, also in lists,
    tuples and dicts. The message names the part that changed: "after the call, .grad of argument 2[0] is None".
    """
    arguments = {f"argument {place}": value for place, value in enumerate(args, start=1)} | kwargs
    before = [(name, list(_iter_parts(name, value))) for name, value in arguments.items()]
    result = function(*args, **kwargs)
    for name, copies in before:
        after = dict(_iter_parts(name, arguments[name]))
        for place, copy in copies:  # a container's length precedes its items
            if isinstance(copy, Keys) and after.get(place) != copy:
                raise Mismatch(f"after the call, {place} have changed")
            if not isinstance(copy, Keys):
                assert_close(after.get(place), copy, rtol=0, atol=0, name=f"after the call, {place}")
    return result


def _iter_parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield (place, copy) for each part of a value that can be compared."""
    if isinstance(value, Tensor):
        yield name, value.detach().clone()
        yield f"requires_grad of {name}", value.requires_grad
        yield f"retains_grad of {name}", value.retains_grad  # a later backward pass would fill .grad
        if value.is_leaf:
            yield f".grad of {name}", None if value.grad is None else value.grad.detach().clone()
    elif isinstance(value, Mapping):
        yield f"the keys of {name}", Keys(tuple(value))
        for place, (key, item) in enumerate(value.items()):
            yield from _iter_parts(f"{name}{show_key(key, place)}", item)
    elif isinstance(value, list | tuple):
        yield f"the number of items of {name}", len(value)
        for place, item in enumerate(value):
            yield from _iter_parts(f"{name}[{place}]", item)
    elif isinstance(value, np.ndarray):
        yield name, value.copy()
    elif isinstance(value, bool | int | float | complex | str | None):
        yield name, value
