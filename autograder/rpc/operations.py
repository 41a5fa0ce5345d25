"""The operations that a client can run on an object of the other process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograder.rpc import allowed_names


def exit_context(value: Any, error: str | None) -> Any:
    """Leave a with block, in which an exception of this type was raised, or none."""
    if error is None:
        return value.__exit__(None, None, None)
    kind = allowed_names.find_exception_type([error], {})
    return value.__exit__(kind, kind(), None)


def _list_bases(value: Any) -> list[str]:
    if not isinstance(value, type):
        raise AttributeError("__bases__")
    return allowed_names.list_type_names(value)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "call": lambda value, *args, **kwargs: value(*args, **kwargs),
    "getattr": getattr,
    "setattr": setattr,
    "delattr": delattr,
    "getitem": lambda value, key: value[key],
    "setitem": lambda value, key, item: value.__setitem__(key, item),
    "len": len,
    "bool": bool,
    "iter": iter,
    "next": next,
    "contains": lambda value, item: item in value,
    "isinstance": lambda value, other: isinstance(value, other),
    "enter": lambda value: value.__enter__(),
    "leave": exit_context,
    "kinds": lambda value: allowed_names.list_type_names(type(value)),
    "bases": _list_bases,
}
