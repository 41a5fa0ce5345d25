"""Converts a NumPy array to its geometry over a block, and back. Every received number is checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.rpc.blocks import Block, check_size
from autograder.rpc.fields import check_int, check_list
from autograder.rpc.frames import ProtocolError, WireValue
from autograder.rpc.values import parse_numpy_dtype

Array = np.ndarray[Any, Any]


def pack_array_layout(a: Array, offset: int) -> list[WireValue]:
    """Return [dtype, offset in bytes, shape, strides in bytes, writeable, owns its memory]."""
    return [a.dtype.str, offset, list(a.shape), list(a.strides), bool(a.flags.writeable), bool(a.flags.owndata)]


def unpack_array(
    block: Block,
    dtype: WireValue,
    offset: WireValue,
    shape: WireValue,
    strides: WireValue,
    writeable: WireValue,
    owns: WireValue,
) -> Array:
    """Build the array over this block from the fields that pack_array_layout() returned."""
    kind = parse_numpy_dtype(dtype)
    start, sizes, steps = check_int(offset), _check_ints(shape), _check_ints(strides)
    _check_geometry(block, kind, start, sizes, steps)
    a = _create_owned(block, kind, tuple(sizes), steps) if owns else None
    if a is None:
        a = _create_view(block, kind, start, tuple(sizes), tuple(steps))
    a.flags.writeable = bool(writeable)
    return a


def _check_ints(received: WireValue) -> list[int]:
    return [check_int(number) for number in check_list(received)]


def _check_geometry(block: Block, dtype: np.dtype[Any], offset: int, shape: list[int], strides: list[int]) -> None:
    """Refuse an array that reaches beyond the block. NumPy's own check overflows with huge strides."""
    numbers = [offset, *shape, *strides]
    if any(type(n) is not int or abs(n) >= 2**40 for n in numbers) or not len(shape) == len(strides) <= 32:
        raise ProtocolError("malformed geometry of an array")
    if min(shape, default=0) < 0:
        raise ProtocolError("a negative size")
    check_size([max(n, 1) for n in shape], dtype.itemsize)
    steps = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    low, high = offset + sum(s for s in steps if s < 0), offset + sum(s for s in steps if s > 0) + dtype.itemsize
    if 0 not in shape and (low < 0 or high > block.nbytes):
        raise ProtocolError("an array that reaches beyond its block")


def _create_owned(block: Block, dtype: np.dtype[Any], shape: tuple[int, ...], strides: list[int]) -> Array | None:
    """Create an array that owns its memory, as the sender's did. None if the block is in use, or the array has gaps."""
    for order in ("C", "F"):
        a: Array = np.empty(shape, dtype, order=order)
        if list(a.strides) == strides and (a.nbytes == 0 or block.move_into(a)):
            return a
    return None


def _create_view(
    block: Block, dtype: np.dtype[Any], offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> Array:
    if 0 in shape:
        return np.ndarray(shape, dtype, bytearray(dtype.itemsize), 0, strides)
    return np.ndarray(shape, dtype, block.get_array(), offset, strides)
