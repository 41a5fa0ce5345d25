"""`@probe`: a function that looks at a student's object in the process where that object lives.

In one process a probe is an ordinary call. Where an argument only stands for an object in another process, what stands
for it has a method `__probe__(probe, args, kwargs)`, and the probe runs over there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
MAX_DEPTH = 20

# labkit's own probes by name. Those of a given cell are known by their name in the notebook.
PROBES: dict[str, Callable[..., Any]] = {}


class ProbeError(Exception):
    """A probe was asked for what it cannot do: a mistake of the check, not of the student."""

    from_course = True


def probe(function: F) -> F:
    """Make this function a probe. Its source and its arguments are public: it must hold no expected value.

    It may stand in labkit or at the top of a given cell. It takes values, named callables and the student's objects,
    and returns values. What it changes of its arguments is changed for the caller too. What it raises counts as the
    student's exception, but for ProbeError.
    """

    @functools.wraps(function)
    def run_probe(*args: Any, **kwargs: Any) -> Any:
        stand_in = _find_proxy((args, kwargs), 0)
        if stand_in is None:
            return function(*args, **kwargs)
        return type(stand_in).__probe__(stand_in, run_probe, args, kwargs)

    if function.__module__.startswith("labkit."):
        PROBES[function.__name__] = run_probe
    return run_probe  # type: ignore[return-value]


def _find_proxy(value: Any, depth: int) -> Any:
    """The first proxy in a value, or None."""
    kind = type(value)  # not isinstance: a proxy would ask the other process for its class
    if hasattr(kind, "__probe__"):
        return value
    if depth > MAX_DEPTH:
        return None
    items: Any = ()
    if issubclass(kind, dict):
        items = (*value.keys(), *value.values())
    elif issubclass(kind, list | tuple | set | frozenset):
        items = value
    return next((found for item in items if (found := _find_proxy(item, depth + 1)) is not None), None)
