"""Converts a tensor to its geometry over a block, and back. Every received number is checked."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from autograder.rpc.blocks import MAX_BLOCK, Block, check_size
from autograder.rpc.fields import check_list, check_number
from autograder.rpc.frames import ProtocolError, WireValue

# Without quantized dtypes, and those of less than eight bits, which support next to no operations.
_NAME = re.compile(r"torch\.(bool|u?int(8|16|32|64)|float(8_\w+|16|32|64)|bfloat16|complex(32|64|128))")
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in vars(torch).values()
    if isinstance(dtype, torch.dtype) and _NAME.fullmatch(str(dtype))
}
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
MAX_VERSION = 2**31
MAX_NUMBER = 2**40  # of a geometry
MAX_DIMENSIONS = 64


class TensorTraits(NamedTuple):
    """What a tensor is besides its values."""

    requires_grad: bool = False
    is_leaf: bool = True
    is_parameter: bool = False
    conj: bool = False
    neg: bool = False
    inference: bool = False
    retains_grad: bool = False


# By bits, in the order of the fields.
TRAITS = [
    TensorTraits(*[bool(bits >> n & 1) for n in range(len(TensorTraits._fields))])
    for bits in range(1 << len(TensorTraits._fields))
]
Enter = Callable[[Tensor, TensorTraits], Tensor]


def get_gradient(t: Tensor) -> Tensor | None:
    """Return .grad without torch's warning for a tensor that has none."""
    return t.grad if t.is_leaf or t.retains_grad else None


def get_base(t: Tensor) -> Tensor | None:
    """Return the tensor that this one is a view of, unless autograd records the view."""
    return t._base if t._is_view() and not t.requires_grad else None


def get_version(t: Tensor) -> int:
    """Return how often the tensor was changed in place, as far as torch counts that."""
    return 0 if t.is_inference() else t._version


def raise_version(t: Tensor, target: int) -> None:
    """Raise the version to at least this one. A view shares it with its base, so it may be reached already."""
    if not t.is_inference() and t._version < target <= MAX_VERSION:
        torch._C._autograd._unsafe_set_version_counter((t,), (target,))


def pack_tensor_layout(t: Tensor) -> list[WireValue]:
    """Return [dtype, offset in its storage, size, stride, traits as bits, version]."""
    kind = type(t)
    bits = (
        t.requires_grad
        | t.is_leaf << 1
        | (kind is not Tensor and isinstance(t, torch.nn.Parameter)) << 2
        | t.is_conj() << 3
        | t.is_neg() << 4
        | t.is_inference() << 5
        | t.retains_grad << 6
    )
    return [
        DTYPE_NAMES.get(t.dtype, str(t.dtype)),
        int(t.storage_offset()),
        [*t.shape],
        [*t.stride()],
        bits,
        min(get_version(t), MAX_VERSION),
    ]


def unpack_tensor(block: Block, base: Tensor | None, enter: Enter, layout: list[WireValue]) -> Tensor:
    """Build the tensor that pack_tensor_layout() packed, over this block.

    Args:
        base: The tensor that it was a view of.
        enter: Makes it part of an autograd graph.
    """
    name, start, sizes, strides, bits, version = layout
    dtype = DTYPES.get(name) if isinstance(name, str) else None
    if dtype is None:
        raise ProtocolError(f"unknown dtype {str(name)[:20]!r}")
    offset = check_number(start, MAX_NUMBER)
    size, stride = _check_sizes(sizes), _check_sizes(strides)
    _check_geometry(block, dtype.itemsize, offset, size, stride)
    if type(bits) is not int or not 0 <= bits < len(TRAITS):
        raise ProtocolError("malformed flags of a tensor")
    traits = TRAITS[bits]
    if traits.requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ProtocolError(f"a {DTYPE_NAMES[dtype]} tensor can't require gradients")
    if traits.conj and not dtype.is_complex:
        raise ProtocolError("a conjugate of real numbers")
    if traits.inference:
        with torch.inference_mode():
            t = _set(block, dtype, offset, size, stride)
            t.requires_grad_(traits.requires_grad)
    else:
        t = _create_tensor(block, base, dtype, offset, size, stride)
    if traits.conj:
        torch._C._set_conj(t, True)
    if traits.neg:
        torch._C._set_neg(t, True)
    if traits.inference:
        return t
    entered = enter(t, traits)
    if version:
        raise_version(entered, check_number(version))
    return entered


def _create_tensor(
    block: Block, base: Tensor | None, dtype: torch.dtype, offset: int, size: list[int], stride: list[int]
) -> Tensor:
    if base is None and offset == 0 and (whole := block.as_tensor(dtype, size, stride)) is not None:
        return whole
    with torch.no_grad():
        view = None if base is None else _create_view(block, base, dtype, offset, size, stride)
        return _set(block, dtype, offset, size, stride) if view is None else view


def make_leaf(t: Tensor, traits: TensorTraits) -> Tensor:
    if traits.is_parameter:
        return torch.nn.Parameter(t, traits.requires_grad)
    return t.requires_grad_() if traits.requires_grad else t


def check_acyclic(t: Tensor, grad: Any) -> Any:
    """Return a future .grad of t. Raises ProtocolError if it leads back to t: nothing would ever free the two."""
    current = grad
    while isinstance(current, Tensor):
        if current is t:
            raise ProtocolError("a tensor that is its own gradient")
        current = get_gradient(current)
    return grad


def unpack_generator_state(packed: WireValue) -> Tensor:
    """Return a generator's state (n,), uint8. Raises ProtocolError unless it's bytes: bytearray(n) makes n of them."""
    if not isinstance(packed, bytes):
        raise ProtocolError("malformed state of a generator")
    return torch.frombuffer(bytearray(packed), dtype=torch.uint8)


def is_differentiable(value: Any) -> bool:
    """Return whether this is a tensor that a gradient can go to."""
    return isinstance(value, Tensor) and value.requires_grad and not value.is_inference()


def _set(block: Block, dtype: torch.dtype, offset: int, size: list[int], stride: list[int]) -> Tensor:
    t = torch.empty(0, dtype=dtype, device=block.device)
    t.set_(block.get_storage(), offset, size, stride)
    return t.data  # with version 0: set_ counted as a change


def _create_view(
    block: Block, base: Tensor, dtype: torch.dtype, offset: int, size: list[int], stride: list[int]
) -> Tensor | None:
    """Create the tensor as a view of the base, so they share a version counter. None if that isn't the same memory."""
    shift = base.untyped_storage().data_ptr() - block.address
    is_resolved = not (base.is_conj() or base.is_neg() or base.is_inference())
    if not is_resolved or base.dtype != dtype or shift % dtype.itemsize or not 0 <= shift <= offset * dtype.itemsize:
        return None
    if shift + base.untyped_storage().nbytes() > block.nbytes:
        return None
    return base.as_strided(size, stride, offset - shift // dtype.itemsize)


def _check_sizes(received: WireValue) -> list[int]:
    return [check_number(number, MAX_NUMBER) for number in check_list(received)]


def _check_geometry(block: Block, itemsize: int, offset: int, size: list[int], stride: list[int]) -> None:
    """Refuse a tensor that reaches beyond the block, or becomes huge with the first operation."""
    if not len(size) == len(stride) <= MAX_DIMENSIONS:
        raise ProtocolError("malformed geometry of a tensor")
    count, last = 1, offset
    for n, step in zip(size, stride, strict=True):
        count *= n or 1
        last += (n - 1) * step
    if count * max(itemsize, 8) > MAX_BLOCK:
        check_size([n or 1 for n in size], itemsize, stride)
    if 0 not in size and (last + 1) * itemsize > block.nbytes:
        raise ProtocolError("a tensor that reaches beyond its storage")
