"""Computes the difference of two tensors that a card shows.

It decides nothing and omits what can't be shown. As JSON it takes less than 4,000 bytes, whatever the tensors hold.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from labkit.difference import DIFFERS, LEVELS, NOT_FINITE, SAME, Difference

MAX_SIDE = 32  # of a matrix shown as shades
MAX_NUMBERS, MAX_COLUMNS = 48, 10  # of a vector or matrix shown as numbers
SHORT, LONG = 4, 7  # significant digits of a number; float32 has seven
ABOVE = len(LEVELS)  # the index of NOT_FINITE, after the levels
MAX_DIMENSIONS = 8  # of a tensor whose form is shown


class Pair(NamedTuple):
    """A result and the expected value."""

    got: Tensor
    want: Tensor
    differs: Tensor | None = None
    """A mask of where the values differ; None if the shapes or dtypes do."""


def compute_difference(pair: Pair | None) -> Difference | None:
    """Return the difference; None if there's nothing to show. Never raises, although a student's tensor class might."""
    try:
        return _compute_difference(pair) if pair else None
    except Exception:
        return None


def _compute_difference(pair: Pair) -> Difference | None:
    """Describe both tensors, with shades if they're small matrices. Return None if the message already says it all."""
    got, want = pair.got, pair.want
    if max(got.dim(), want.dim()) > MAX_DIMENSIONS or (pair.differs is not None and got.dim() == 0):
        return None  # for two numbers, the message says it all
    if not (_is_small(got) and _is_small(want)):
        return Difference(_describe_form(got), _describe_form(want))
    g, w = _convert_numbers(got), _convert_numbers(want)
    note = _describe_likeness(g, w) if got.dtype == want.dtype else ""
    strides = note == OTHER_ORDER and got.stride() != want.stride()
    yours, expected = _describe_form(got, strides), _describe_form(want, strides)
    if pair.differs is None and got.shape == want.shape:
        return Difference(yours, expected, note)
    marks = _format_rows(torch.atleast_2d(pair.differs), SAME + DIFFERS) if pair.differs is not None else ()
    if _is_readable(got) and _is_readable(want):
        numbers = _build_both_rows(got, want, pair.differs)
        return Difference(yours, expected, note, *numbers, differing=marks)
    if not (_is_matrix(got) and _is_matrix(want)):
        return Difference(yours, expected, note)
    finite = torch.cat([t[t.isfinite()] for t in (g, w)])
    least, most = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    shades = _compute_shades(g, least, most), _compute_shades(w, least, most)
    return Difference(yours, expected, note, (), (), *shades, marks, least, most)


def _describe_form(t: Tensor, strides: bool = False) -> str:
    dtype = str(t.dtype).removeprefix("torch.")
    device = "" if t.device.type == "cpu" else f" on {t.device.type}"
    return f"shape {tuple(t.shape)}, {dtype}{device}" + (f", strides {t.stride()}" if strides else "")


def _is_small(t: Tensor) -> bool:
    return not t.is_complex() and 1 < t.numel() <= MAX_SIDE**2


def _is_matrix(t: Tensor) -> bool:
    return t.dim() == 2 and max(t.shape) <= MAX_SIDE


def _is_readable(t: Tensor) -> bool:
    return 1 <= t.dim() <= 2 and t.numel() <= MAX_NUMBERS and t.shape[-1] <= MAX_COLUMNS


Rows = tuple[tuple[str, ...], ...]


def _build_both_rows(got: Tensor, want: Tensor, differs: Tensor | None) -> tuple[Rows, Rows]:
    """Format both tensors with as few digits as tell the differing values apart."""
    pairs: tuple[Rows, Rows] = (), ()
    for digits in (SHORT, LONG):
        pairs = _build_rows(got, digits), _build_rows(want, digits)
        places = torch.atleast_2d(differs).nonzero().tolist() if differs is not None else []
        if all(pairs[0][i][j] != pairs[1][i][j] for i, j in places):
            break
    return pairs


def _build_rows(t: Tensor, digits: int) -> Rows:
    """Return the values' texts, in rows."""
    rows = torch.atleast_2d(t.detach().resolve_neg().cpu()).tolist()
    return tuple(tuple(f"{n:.{digits}g}" if isinstance(n, float) else str(n) for n in row) for row in rows)


def _convert_numbers(t: Tensor) -> Tensor:
    return t.detach().resolve_neg().to("cpu", torch.float64)


OTHER_SHAPE, OTHER_ORDER = "the same values, in another shape", "the same values, in another order"


def _describe_likeness(g: Tensor, w: Tensor) -> str:
    a, b = g.flatten(), w.flatten()
    if len(a) != len(b):
        return ""
    if torch.allclose(a, b, rtol=1e-5, equal_nan=True):
        return OTHER_SHAPE if g.shape != w.shape else ""
    return OTHER_ORDER if torch.allclose(a.sort().values, b.sort().values, rtol=1e-5, equal_nan=True) else ""


def _compute_shades(t: Tensor, least: float, most: float) -> tuple[str, ...]:
    span = (most - least) or 1.0
    levels = ((t - least) / span * (len(LEVELS) - 1)).round()
    return _format_rows(levels.nan_to_num(ABOVE, ABOVE, ABOVE).clamp(0, ABOVE), LEVELS + NOT_FINITE)


def _format_rows(numbers: Tensor, characters: str) -> tuple[str, ...]:
    """Return a string for each row, with the character for each number."""
    return tuple("".join([characters[number] for number in row]) for row in numbers.to("cpu", torch.uint8).tolist())
