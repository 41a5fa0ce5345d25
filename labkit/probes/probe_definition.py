"""`@probe`: functions that look at a student's object in the process where it lives.

Within one process, a probe is an ordinary call. If an argument is a proxy for an object in another process, the proxy's
method `__probe__(probe, args, kwargs)` runs the probe over there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
MAX_DEPTH = 20

# labkit's own probes by name. Probes in given cells are found by their name in the notebook.
PROBES: dict[str, Callable[..., Any]] = {}


class ProbeError(Exception):
    """A request that a probe can't fulfil: a mistake in the check, not the student's."""

    from_course = True


def probe(function: F) -> F:
    """Make this function a probe. Its source and arguments are public, so it must hold no expected value.

    Define it in labkit or at the top level of a given cell. It takes values, named callables and the student's objects,
    and returns values. Changes to its arguments reach the caller. Its exceptions count as the student's, except
    ProbeError.
    """

    @functools.wraps(function)
    def run_probe(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy((args, kwargs), 0)
        if proxy is None:
            return function(*args, **kwargs)
        return type(proxy).__probe__(proxy, run_probe, args, kwargs)

    if function.__module__.startswith("labkit."):
        PROBES[function.__name__] = run_probe
    return run_probe  # type: ignore[return-value]


def _find_proxy(value: Any, depth: int) -> Any:
    """Return the first proxy in a value, or None."""
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
    return next((proxy for item in items if (proxy := _find_proxy(item, depth + 1)) is not None), None)
