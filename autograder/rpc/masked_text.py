"""Texts and bytes that a student process sent: equal to any others, and never shown.

They could hold what a hidden check passed in. Code that prints one, puts it in a message or asks for its repr gets its
kind and its length, and a part of one, or what a method makes of one, is masked as well.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

Masked = TypeVar("Masked", bound=type)
OPERATORS = ("__add__", "__mul__", "__rmul__", "__mod__", "__getitem__")


class MaskedText(str):
    """A str in every comparison, as a key and as a value to pass on."""

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
    """The same of bytes. Their items are numbers, and a message has few digits."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"bytes of length {len(self)}"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __radd__(self, other: bytes) -> bytes:
        return MaskedBytes(other + bytes(self))


def mask(value: Any) -> Any:
    """The value; texts and bytes, and those in a list or tuple that one of their methods returned, masked."""
    kind = type(value)
    if kind is str:
        return MaskedText(value)
    if kind is bytes:
        return MaskedBytes(value)
    return kind(map(mask, value)) if kind in (list, tuple) else value


def unmask_text(text: str) -> str:
    """The plain text again."""
    return str.__str__(text)


def unmask_bytes(data: bytes) -> bytes:
    """The plain bytes again."""
    return bytes(memoryview(data))


def _mask_methods(kind: Masked, base: type) -> Masked:
    """Have each method of `kind` that `base` has return masked values. Named as the student knows it."""

    def wrap(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def masking(self: Any, *args: Any, **kwargs: Any) -> Any:
            return mask(method(self, *args, **kwargs))

        return masking

    for name, method in vars(base).items():
        is_method = isinstance(method, types.MethodDescriptorType) and not name.startswith("_")
        if is_method or name in OPERATORS:
            setattr(kind, name, wrap(method))
    kind.__name__ = kind.__qualname__ = base.__name__  # `type(got).__name__` in a check means the student's type
    return kind


_mask_methods(MaskedText, str)
_mask_methods(MaskedBytes, bytes)
