"""Comparison of a student's result with the value that a check expects.

All labs share one table of tolerances. Messages describe the student's value. The expected value is kept separately, so
the code that shows a message decides whether to reveal it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from labkit.cause import Cause
from labkit.tensor_difference import Pair
from labkit.value_text import (
    describe_value,
    format_distinct,
    format_dtype,
    format_item_count,
    format_key_count,
    show_key,
)

# (rtol, atol): wide enough for a different order of summation, narrow enough to fail a wrong formula.
TOLERANCES: dict[torch.dtype, tuple[float, float]] = {
    torch.float64: (1e-9, 1e-10),
    torch.complex128: (1e-9, 1e-10),
    torch.float32: (2e-5, 1e-5),
    torch.complex64: (2e-5, 1e-5),
    torch.bfloat16: (2e-2, 1e-2),
    torch.float16: (2e-3, 1e-3),
}
WHOLE_RESULT = re.compile(r"your \w+")  # the name of a whole result, not of a part
CUDA_FACTOR = 5.0  # its kernels sum in another order


class Mismatch(AssertionError):
    """A result that differs from the expected one.

    Args:
        seen: Describes the student's value.
        expected: Describes the expected value.
        pair: The two values, if they are tensors.
        cause: Why there was nothing to compare.
    """

    def __init__(
        self,
        seen: str,
        expected: str = "",
        misconception: str = "",
        pair: Pair | None = None,
        cause: Cause | None = None,
    ) -> None:
        super().__init__(misconception or seen)
        self.seen, self.expected, self.misconception, self.pair, self.cause = seen, expected, misconception, pair, cause


def assert_close(
    got: Any,
    want: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    check_dtype: bool = True,
    check_device: bool = True,
    name: str = "your result",
) -> None:
    """Raise Mismatch unless `got` equals `want`: type, shape, dtype, device and values.

    NaN equals NaN.

    Args:
        want: A Tensor, an ndarray, a number, a string, None, or lists, tuples and dicts of these.
        rtol: Relative tolerance; by default, that of TOLERANCES for the dtype of `want`.
        atol: Absolute tolerance, with the same default.
        check_dtype: False compares only values, after casting `got` to the dtype of `want`.
        check_device: False accepts a tensor on another device than `want`.
        name: The name of `got` in messages.
    """
    options: dict[str, Any] = {"rtol": rtol, "atol": atol, "check_dtype": check_dtype, "check_device": check_device}
    if isinstance(want, Tensor):
        _assert_tensors_close(got, want, rtol, atol, check_dtype, name, check_device)
    elif isinstance(want, np.ndarray):
        if not isinstance(got, np.ndarray):
            raise _build_mismatch(got, name, f"a NumPy array of shape {want.shape}")
        if check_dtype and got.dtype != want.dtype:
            raise Mismatch(f"{name} has dtype {got.dtype}", f"dtype {want.dtype}")
        _assert_tensors_close(torch.tensor(got), torch.tensor(want), rtol, atol, check_dtype, name)
    elif isinstance(want, Mapping):
        if not isinstance(got, Mapping):
            raise _build_mismatch(got, name, "a dict")
        if set(got) != set(want):
            raise Mismatch(
                f"{name} has {format_key_count(got, want)}", f"the keys {', '.join(sorted(map(repr, want)))}"
            )
        for place, key in enumerate(want):
            assert_close(got[key], want[key], name=f"{name}{show_key(key, place)}", **options)
    elif isinstance(want, list | tuple):
        if not isinstance(got, Sequence) or isinstance(got, str):
            raise _build_mismatch(got, name, format_item_count(want))
        if len(got) != len(want):
            raise Mismatch(f"{name} has {format_item_count(got)}", format_item_count(want))
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            assert_close(g, w, name=f"{name}[{i}]", **options)
    elif isinstance(want, float):
        _assert_numbers_close(got, want, rtol, atol, name)
    elif isinstance(got, Tensor | np.ndarray) or isinstance(want, bool) != isinstance(got, bool) or got != want:
        raise _build_mismatch(got, name, describe_value(want))


def _build_mismatch(got: Any, name: str, expected: str) -> Mismatch:
    """Return the Mismatch for a value of the wrong kind. If the whole result is None, a return is probably missing."""
    is_nothing = got is None and WHOLE_RESULT.fullmatch(name)
    return Mismatch(f"{name} is {describe_value(got)}", expected, cause=Cause.NOTHING if is_nothing else None)


def explain(got: Any, want: Any, misconceptions: Mapping[str, Any], **options: Any) -> None:
    """Call assert_close, and name the misconception if `got` equals the value that a known one leads to.

    To explain a gradient, compare the values first in the same check: a gradient of the wrong function explains
    nothing.

    Args:
        misconceptions: Message -> the value that this belief leads to. Values of None are skipped.
    """
    try:
        assert_close(got, want, **options)
    except Mismatch as mismatch:
        for message, value in misconceptions.items():
            if value is not None and _is_close(got, value, options):
                raise Mismatch(mismatch.seen, mismatch.expected, message, mismatch.pair, mismatch.cause) from None
        raise


def _assert_tensors_close(
    got: Any,
    want: Tensor,
    rtol: float | None,
    atol: float | None,
    check_dtype: bool,
    name: str,
    check_device: bool = True,
) -> None:
    """Raise Mismatch for the first difference: type, shape, dtype, device or values. See assert_close()."""
    description = describe_value(want)
    if not isinstance(got, Tensor):
        raise _build_mismatch(got, name, description)
    pair = Pair(got, want)
    if got.shape != want.shape:
        raise Mismatch(f"{name} has shape {tuple(got.shape)}", f"shape {tuple(want.shape)}", pair=pair)
    if check_dtype and got.dtype != want.dtype:
        raise Mismatch(f"{name} has dtype {format_dtype(got)}", f"dtype {format_dtype(want)}", pair=pair)
    if not check_device:
        got = got.to(want.device)
        pair = Pair(got, want)
    if got.device.type != want.device.type:
        raise Mismatch(f"{name} is on {got.device.type}", f"on {want.device.type}", pair=pair)
    got, want = got.detach().resolve_conj().resolve_neg(), want.detach()
    if not check_dtype:
        got = got.to(want.dtype)
    if torch.equal(got, want):
        return
    table = TOLERANCES.get(want.dtype, (0.0, 0.0))
    factor = CUDA_FACTOR if want.is_cuda else 1.0
    matches = torch.isclose(
        got,
        want,
        rtol=table[0] * factor if rtol is None else rtol,
        atol=table[1] * factor if atol is None else atol,
        equal_nan=want.dtype.is_floating_point or want.dtype.is_complex,
    )
    if bool(matches.all()):
        return
    index = tuple(int(i) for i in (~matches).nonzero()[0])
    place = f" at index {index}" if index else ""
    many = int((~matches).sum())
    count = f"; {many} of {matches.numel()} values differ" if matches.numel() > 1 else ""
    pair = pair._replace(differs=~matches)
    yours, expected = format_distinct(got[index].item(), want[index].item())
    raise Mismatch(f"{name} is {yours}{place}{count}", f"{expected}{place}", pair=pair)


def _assert_numbers_close(got: Any, want: float, rtol: float | None, atol: float | None, name: str) -> None:
    if isinstance(got, bool) or not isinstance(got, int | float):
        raise _build_mismatch(got, name, "a number")
    relative = TOLERANCES[torch.float32][0] if rtol is None else rtol
    absolute = TOLERANCES[torch.float32][1] if atol is None else atol
    both_nan = math.isnan(got) and math.isnan(want)
    if not both_nan and not math.isclose(got, want, rel_tol=relative, abs_tol=absolute):
        yours, expected = format_distinct(got, want)
        raise Mismatch(f"{name} is {yours}", expected)


def _is_close(got: Any, want: Any, options: Mapping[str, Any]) -> bool:
    try:
        assert_close(got, want, **options)
    except AssertionError:
        return False
    return True
