"""The worked solution of an exercise, for checks that compare an answer with it."""

from __future__ import annotations

import functools
import inspect
import linecache
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any


@dataclass(frozen=True)
class Reference:
    """The worked solution, defined apart from the student's object of the same name."""

    name: str
    source: str
    function: Callable[..., Any]
    """The function, or the class."""
    seed: int = 1
    """Of the inputs that are drawn for it."""


def define_reference(name: str, source: str, namespace: Mapping[str, Any], seed: int = 1) -> Reference:
    """Define the worked solution in a namespace of its own, where its name isn't the student's object.

    The builder writes this call.

    Args:
        namespace: The names that it uses.
        seed: The course's, for the inputs that are drawn.
    """
    file = f"<reference of {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    own_namespace = dict(namespace)
    exec(_compile_source(source, file), own_namespace)
    return Reference(name, source, own_namespace[name], seed)


@functools.lru_cache(maxsize=256)
def _compile_source(source: str, file: str) -> CodeType:
    return compile(source, file, "exec")


def collect_codes(function: Any, found: dict[str, CodeType] | None = None) -> dict[str, CodeType]:
    """Return the code of this function and of the lab's functions that it leads to, by name."""
    found = {} if found is None else found
    function = inspect.unwrap(function) if isinstance(function, FunctionType) else function
    if isinstance(function, FunctionType) and function.__name__ not in found:
        found[function.__name__] = function.__code__
        for name in function.__code__.co_names:
            other = function.__globals__.get(name)
            if getattr(other, "__module__", "") == "__main__":
                collect_codes(other, found)
    return found
