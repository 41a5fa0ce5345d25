"""The objects of a check that a student's function may use, and what it may do with them."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.rpc import operations
from autograder.rpc.masked_text import unmask_text
from labkit.recorded_calls import Seen

FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinMethodType, functools.partial, Seen)
OPERATIONS: dict[str, Callable[..., Any]] = {
    **{name: operations.OPERATIONS[name] for name in ("iter", "next", "len", "getitem", "enter")},
    "call": lambda value, *args, **kwargs: _call(value, args, kwargs),
    "leave": lambda value, kind: operations.exit_context(value, kind and unmask_text(kind)),
    "getattr": lambda value, name: _get_public(value, name),
}


def is_callback(value: Any) -> bool:
    """Return whether this is a function, an iterator, or an object of a class that the course defines."""
    kind = type(value)
    return isinstance(value, FUNCTIONS) or hasattr(kind, "__next__") or _is_course_class(kind)


def _is_course_class(kind: type) -> bool:
    return kind.__module__ == "__main__" and not issubclass(kind, torch.nn.Module | Tensor)


def _get_public(value: Any, name: Any) -> Any:
    """Return a method or property of a course object, or an attribute that its class lists in `offers`.

    Raises AttributeError for others: they are the check's records, or functions that record nothing. Functions and
    iterators have no public attributes.
    """
    if not isinstance(name, str) or name.startswith("_") or not _is_course_class(type(value)):
        raise AttributeError(name)
    if not hasattr(type(value), name) and name not in getattr(type(value), "offers", ()):
        raise AttributeError(name)
    return getattr(value, name)


def _call(value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the check's function. Raises TypeError if an argument would replace one that the check has bound."""
    for name in _iter_rebound_parameters(value, len(args), kwargs):
        raise TypeError(f"the argument {name!r} is set by the check")
    return value(*args, **kwargs)


def _iter_rebound_parameters(value: Any, count: int, names: Iterable[str]) -> Iterator[str]:
    """Yield the passed parameters that the course has bound, by a default other than None or by partial().

    Args:
        count: The number of positional arguments.
        names: The names of the keyword arguments.
    """
    names, skipped = list(names), 0
    while isinstance(value, Seen | functools.partial):
        if isinstance(value, functools.partial):
            yield from (name for name in names if name in value.keywords)
            skipped += len(value.args)
            value = value.func
        else:
            value = value._f
    if _is_course_class(type(value)):
        value = value.__call__
    if not isinstance(value, types.FunctionType | types.MethodType):
        return
    parameters = list(inspect.signature(value).parameters.values())
    bound = {p.name for p in parameters if p.default not in (inspect.Parameter.empty, None)}
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    yield from (name for name in (*positional[skipped : skipped + count], *names) if name in bound)


def refuse_use(*_: Any, **__: Any) -> Any:
    raise RuntimeError("this object belongs to an earlier check and can't be used any more")
