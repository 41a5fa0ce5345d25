"""A value as it was at one moment, taken without an operation that a profiler or a mode would see."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from labkit.value_text import describe_value

MAX_NUMBERS, MAX_ITEMS, MAX_LEVELS = 64, 16, 3  # of a tensor, of a list, of lists in lists
MAX_TEXT = 160  # characters of a value that is written out
BRACKETS: dict[type, tuple[str, str]] = {list: ("[", "]"), tuple: ("(", ")"), dict: ("{", "}")}
PLAIN = (bool, int, float, complex, str, type(None), torch.dtype, torch.device, torch.Size)


class ValueSnapshot:
    """What a value was. It keeps no tensor alive, because a check may measure which ones are freed."""

    def __init__(self, value: Any, levels: int = MAX_LEVELS) -> None:
        self._description = _describe(value)
        self._find: Callable[[], Any] = lambda: None
        self._numbers: Any = None
        self._version = 0
        self._keys: list[Any] | None = None
        self._items: list[ValueSnapshot] | None = None
        self._brackets = ("", "")
        self._layout = ""
        self._dtype: torch.dtype | None = None
        if hasattr(type(value), "__probe__"):
            return
        if isinstance(value, Tensor):
            self._numbers, self._dtype, self._find = _read_numbers(value), value.dtype, weakref.ref(value)
            self._version = _read_version(value)
            self._layout = _describe_layout(value)
        elif isinstance(value, np.ndarray):
            self._numbers = value.tolist() if value.size <= MAX_NUMBERS else None
            self._find = lambda: value
        elif type(value) in (list, tuple, dict) and levels and len(value) <= MAX_ITEMS:
            self._brackets = BRACKETS[type(value)]
            self._keys = list(value) if isinstance(value, dict) else None
            self._items = [ValueSnapshot(item, levels - 1) for item in (value.values() if self._keys else value)]
            if all(item._is_plain() for item in self._items):
                self._find = lambda: value

    def _is_plain(self) -> bool:
        """Return whether there's no tensor or other object in it."""
        return self._dtype is None and all(item._is_plain() for item in self._items or ())

    def format(self) -> str:
        """Write the value out on one line. What's too long is described."""
        text = self._format_whole()
        return text if len(text) <= MAX_TEXT else self._description

    def describe(self) -> str:
        """Describe the value, without its numbers."""
        return self._description

    def _format_whole(self) -> str:
        if self._numbers is not None:
            value = np.array(self._numbers) if self._dtype is None else torch.tensor(self._numbers, dtype=self._dtype)
            text = " ".join(repr(value.cpu() if isinstance(value, Tensor) else value).split())
            return f"<{text}{self._layout}>" if self._layout else text
        if self._items is None:
            return self._description
        texts = [item.format() for item in self._items]
        if self._keys is not None:
            texts = [f"{key!r}: {text}" for key, text in zip(self._keys, texts, strict=True)]
        first, last = self._brackets
        comma = "," if first == "(" and len(texts) == 1 else ""
        return f"{first}{', '.join(texts)}{comma}{last}"

    def iter_changes(self, name: str) -> Iterator[str]:
        """Yield a sentence for each part that is another one now, as far as it's known."""
        now = self._find()
        if now is None:
            for place, item in enumerate(self._items or ()):
                yield from item.iter_changes(f"{name}[{self._keys[place] if self._keys else place!r}]")
            return
        other = ValueSnapshot(now)
        if other._numbers is not None or other._items is not None:
            if repr(other._list_numbers()) != repr(self._list_numbers()):
                yield f"{name} is {other.format()}"
        elif other._version != self._version or other._description != self._description:
            yield f"{name} has changed"

    def _list_numbers(self) -> Any:
        if self._items is None:
            return self._description if self._numbers is None else self._numbers
        return [self._keys, [item._list_numbers() for item in self._items]]


def _describe(value: Any) -> str:
    if hasattr(type(value), "__probe__"):  # a proxy, which would ask the student's process even for its type
        return "<an object of yours>"
    if isinstance(value, Tensor | np.ndarray):
        return f"<{describe_value(value)}{_describe_layout(value)}>"
    text = repr(value) if isinstance(value, PLAIN) else ""
    if 0 < len(text) <= MAX_TEXT:
        return text
    kind = type(value).__name__
    name = getattr(value, "__name__", "")
    if isinstance(name, str) and name.isidentifier():
        return f"<{kind} {name}>"
    return f"<{kind} of length {len(value)}>" if isinstance(value, list | tuple | dict | str) else f"<{kind}>"


def _describe_layout(value: Any) -> str:
    """Describe how a view reads its memory; empty if that's one number after the other, from the first on."""
    if type(value) not in (Tensor, torch.nn.Parameter) or value.layout != torch.strided:
        return ""
    strides = "" if value.is_contiguous() else f" with strides {tuple(value.stride())}"
    offset = value.storage_offset()
    return strides + (f"{' and' if strides else ' with'} offset {offset}" if offset else "")


def _read_numbers(t: Tensor) -> Any:
    """Return a small tensor's numbers as nested lists; None if they can't be read without an operation."""
    if type(t) not in (Tensor, torch.nn.Parameter) or t.layout != torch.strided or not t.is_cpu:
        return None
    if t.numel() > MAX_NUMBERS or 0 in t.shape or torch._C._autograd._profiler_enabled():
        return None
    try:
        return t.tolist()
    except RuntimeError:  # a function transform such as vmap
        return None


def _read_version(t: Tensor) -> int:
    return 0 if t.is_inference() else t._version
