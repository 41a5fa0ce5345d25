"""A call that must leave its arguments as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from labkit.compare import assert_close


def unchanged(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call function with these arguments, and raise AssertionError where one is another afterwards. Returns its result.

    Looked at are tensors (values, dtype, requires_grad, .grad), numbers and texts, in lists, tuples and dicts as well.
    """
    given = dict(enumerate(args, start=1)) | kwargs
    before = {name: _look(value) for name, value in given.items()}
    result = function(*args, **kwargs)
    for name, look in before.items():
        where = f"argument {name}" if isinstance(name, int) else name
        assert_close(_look(given[name]), look, rtol=0, atol=0, name=f"after the call, {where}")
    return result


def _look(value: Any) -> Any:
    """A copy of what can be compared in a value; None for what cannot."""
    if isinstance(value, Tensor):
        grad = None if not value.is_leaf or value.grad is None else value.grad.detach().clone()
        return [value.detach().clone(), value.requires_grad, grad]
    if isinstance(value, Mapping):
        return {key: _look(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_look, value)) if type(value) in (list, tuple) else [_look(item) for item in value]
    return value if isinstance(value, bool | int | float | complex | str | None) else None
