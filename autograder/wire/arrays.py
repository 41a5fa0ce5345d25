"""A NumPy array as geometry over a block, and back. Nothing that arrives is believed: every number is checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.wire.blocks import Block, bounded_size
from autograder.wire.frames import Plain, WireError
from autograder.wire.values import numpy_dtype

Array = np.ndarray[Any, Any]


def array_geometry(a: Array, offset: int) -> list[Plain]:
    """[dtype, offset in bytes, shape, strides in bytes, writeable, owns its memory]."""
    return [a.dtype.str, offset, list(a.shape), list(a.strides), bool(a.flags.writeable), bool(a.flags.owndata)]


def rebuild_array(block: Block, dtype: Any, offset: Any, shape: Any, strides: Any, writeable: Any, owns: Any) -> Array:
    """The array that array_geometry() described."""
    kind = numpy_dtype(dtype)
    if any(type(n) is not int or n < 0 for n in shape) or len(shape) > 32 or type(offset) is not int:
        raise WireError("malformed array")
    bounded_size([max(n, 1) for n in shape], kind.itemsize)
    a = _own(block, kind, tuple(shape), list(strides)) if owns else None
    if a is None:
        a = _over(block, kind, offset, tuple(shape), tuple(strides))
    a.flags.writeable = bool(writeable)
    return a


def _own(block: Block, dtype: np.dtype[Any], shape: tuple[int, ...], strides: list[int]) -> Array | None:
    """An array that owns its memory, as the sender's did; None where something else lives there, or it has gaps."""
    for order in ("C", "F"):
        a: Array = np.empty(shape, dtype, order=order)  # type: ignore[call-overload]
        if list(a.strides) == strides and (a.nbytes == 0 or block.move_into(a)):
            return a
    return None


def _over(block: Block, dtype: np.dtype[Any], offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """An array over a block. NumPy checks that shape, strides and offset stay inside the buffer."""
    if block.nbytes == 0:
        if 0 not in shape:
            raise WireError("an array without memory")
        return np.ndarray(shape, dtype, bytearray(dtype.itemsize), 0, strides)
    return np.ndarray(shape, dtype, block.as_array(), offset, strides)
