"""Describes a student's value briefly, without quoting what could be a hidden input or the student's own text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor


def describe_value(value: Any) -> str:
    """Describe a value briefly, with its shape, dtype and device if it has them."""
    if isinstance(value, Tensor):
        device = "" if value.device.type == "cpu" else f" on {value.device.type}"
        return f"a tensor of shape {tuple(value.shape)}, {str(value.dtype).removeprefix('torch.')}{device}"
    if isinstance(value, np.ndarray):
        return f"a NumPy array of shape {value.shape}, {value.dtype}"
    if value is None or isinstance(value, bool | int | float | torch.dtype):
        return repr(value)
    text = repr(value) if isinstance(value, str | list | tuple | dict | set) and _is_plain(value) else ""
    return text if 0 < len(text) <= 80 else _describe_type(value)


def _describe_type(value: Any) -> str:
    """Name the value's type. The name of a student's own class isn't quoted: it could say anything."""
    kind = type(value)
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return "a named tuple"
    is_public = kind.__module__.partition(".")[0] in ("builtins", "collections", "numpy", "torch")
    name = (
        kind.__name__
        if is_public and kind.__name__.isascii() and len(kind.__name__) < 40
        else "object of its own class"
    )
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _is_plain(value: Any) -> bool:
    """Return whether the repr shows only numbers, brackets and strings. A masked string hides its own text."""
    if len(value) > 80:
        return False
    if isinstance(value, dict):
        return type(value) is dict and all(map(_is_plain_part, [*value, *value.values()]))
    return isinstance(value, str) or (type(value) in (list, tuple, set) and all(map(_is_plain_part, value)))


def _is_plain_part(part: Any) -> bool:
    if isinstance(part, list | tuple | dict | set | str):
        return _is_plain(part)
    return part is None or type(part) in (bool, int, float, complex) or isinstance(part, torch.dtype)


def format_dtype(t: Tensor) -> str:
    return str(t.dtype).removeprefix("torch.")


def format_distinct(*numbers: Any) -> list[str]:
    """Format two numbers with six digits, or with as many as it takes to tell them apart."""
    texts: list[str] = []
    for digits in (6, 9, 17):
        texts = [f"{n:.{digits}g}" if isinstance(n, float | complex) else repr(n) for n in numbers]
        if texts[0] != texts[1]:
            break
    return texts


def format_item_count(sequence: Sequence[Any]) -> str:
    return f"{len(sequence)} item{'' if len(sequence) == 1 else 's'}"


def format_key_count(got: Mapping[Any, Any], want: Mapping[Any, Any]) -> str:
    """Count the expected keys that are present, and the others. Their names could belong to a hidden input."""
    present = sum(1 for key in want if key in got)
    others = sum(1 for key in got if key not in want)
    count = f"{present} of {len(want)} expected key{'' if len(want) == 1 else 's'}"
    return count + (f" and {others} {'other' if others == 1 else 'others'}" if others else "")


def show_key(key: Any, place: int) -> str:
    """Format a key as an index, by name if it's an identifier. Other keys can be values of a hidden input."""
    if isinstance(key, str) and all(part.isidentifier() or part.isdecimal() for part in key.split(".")):
        return f"[{key!r}]"
    return f"[key {place + 1}]"
