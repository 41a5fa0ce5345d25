"""Texts and bytes from a student process: they compare like any others, but are never displayed.

They could contain what a hidden check passed in. Printing or formatting one, or its repr, gives only its type and
length. Parts of one, and results of its methods, are masked as well.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

Masked = TypeVar("Masked", bound=type)
OPERATORS = ("__add__", "__mul__", "__rmul__", "__mod__", "__getitem__")


class MaskedText(str):
    """A str that hides its content, but acts as one in comparisons, as a key and as an argument."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"a text of {len(self)} characters"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __radd__(self, other: str) -> str:
        return MaskedText(other + unmask_text(self))

    def __iter__(self) -> Iterator[str]:
        return map(MaskedText, str.__iter__(self))


class MaskedBytes(bytes):
    """Bytes that hide their content. Single items are plain numbers: a message has few digits."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"bytes of length {len(self)}"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __radd__(self, other: bytes) -> bytes:
        return MaskedBytes(other + bytes(self))


def mask_value(value: Any) -> Any:
    """Mask texts and bytes, also in a list or tuple that one of their methods returned. Others stay as they are."""
    kind = type(value)
    if kind is str:
        return MaskedText(value)
    if kind is bytes:
        return MaskedBytes(value)
    return kind(map(mask_value, value)) if kind in (list, tuple) else value


def unmask_text(text: str) -> str:
    """Return the plain text."""
    return str.__str__(text)


def unmask_bytes(data: bytes) -> bytes:
    """Return the plain bytes."""
    return bytes(memoryview(data))


def _mask_methods(kind: Masked, base: type) -> Masked:
    """Make each method that `kind` inherits from `base` return masked values, and give it the name of `base`."""

    def wrap(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def mask_result(self: Any, *args: Any, **kwargs: Any) -> Any:
            return mask_value(method(self, *args, **kwargs))

        return mask_result

    for name, method in vars(base).items():
        is_method = isinstance(method, types.MethodDescriptorType) and not name.startswith("_")
        if is_method or name in OPERATORS:
            setattr(kind, name, wrap(method))
    kind.__name__ = kind.__qualname__ = base.__name__  # as `type(got).__name__` in a check should show it
    return kind


_mask_methods(MaskedText, str)
_mask_methods(MaskedBytes, bytes)
