"""A tensor as geometry over a block, and back. Nothing that arrives is believed: every number is checked."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from autograder.rpc.blocks import Block, bounded_size
from autograder.rpc.frames import Plain, ProtocolError

# Without the quantized ones, and those of less than eight bits, for which torch has next to no operations.
_NAME = re.compile(r"torch\.(bool|u?int(8|16|32|64)|float(8_\w+|16|32|64)|bfloat16|complex(32|64|128))")
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in vars(torch).values()
    if isinstance(dtype, torch.dtype) and _NAME.fullmatch(str(dtype))
}
MAX_VERSION = 2**31


class Role(NamedTuple):
    """What a tensor is, beside its values."""

    requires_grad: bool = False
    is_leaf: bool = True
    is_parameter: bool = False
    conj: bool = False
    neg: bool = False
    inference: bool = False
    retains_grad: bool = False


Enter = Callable[[Tensor, Role], Tensor]


def role(t: Tensor) -> Role:
    return Role(
        t.requires_grad,
        t.is_leaf,
        isinstance(t, torch.nn.Parameter),
        t.is_conj(),
        t.is_neg(),
        t.is_inference(),
        t.retains_grad,
    )


def gradient(t: Tensor) -> Tensor | None:
    """Its .grad, without the warning that reading it gives where there is none."""
    return t.grad if t.is_leaf or t.retains_grad else None


def base(t: Tensor) -> Tensor | None:
    """The tensor that it is a view of, unless autograd is part of that."""
    return t._base if t._is_view() and not t.requires_grad else None  # type: ignore[no-untyped-call]


def version(t: Tensor) -> int:
    """How often it was changed in place, as far as torch counts that."""
    return 0 if t.is_inference() else t._version


def raise_version(t: Tensor, target: int) -> None:
    """Let it be at least this one. That of a view is its base's too, and may be there already."""
    if not t.is_inference() and t._version < target <= MAX_VERSION:
        torch._C._autograd._unsafe_set_version_counter((t,), (target,))  # type: ignore[attr-defined]


def geometry(t: Tensor, shift: int) -> list[Plain]:
    """[dtype, offset, size, stride, role as bits, version].

    shift: bytes from the block's begin to the storage's, counted into the offset.
    """
    if shift % t.element_size():
        raise ProtocolError("a storage that is not aligned to its dtype")
    bits = sum(1 << n for n, flag in enumerate(role(t)) if flag)
    offset = t.storage_offset() + shift // t.element_size()
    place = [str(t.dtype).removeprefix("torch."), offset, list(t.shape), list(t.stride())]
    return [*place, bits, min(version(t), MAX_VERSION)]


def rebuild(
    block: Block,
    base: Tensor | None,
    enter: Enter,
    dtype: Any,
    offset: Any,
    size: Any,
    stride: Any,
    bits: Any,
    changes: Any,
) -> Tensor:
    """The tensor that geometry() described. `enter` puts it into a graph. base: a tensor of which it was a view."""
    kind = DTYPES.get(dtype) if isinstance(dtype, str) else None
    if kind is None:
        raise ProtocolError(f"unknown dtype {str(dtype)[:20]!r}")
    _check(block, kind, offset, size, stride)
    if type(bits) is not int or not 0 <= bits < 1 << len(Role._fields):
        raise ProtocolError("malformed flags of a tensor")
    flags = Role(*[bool(bits >> n & 1) for n in range(len(Role._fields))])
    if flags.requires_grad and not (kind.is_floating_point or kind.is_complex):
        raise ProtocolError(f"a {dtype} tensor cannot require gradients")
    if flags.conj and not kind.is_complex:
        raise ProtocolError("a conjugate of real numbers")
    if flags.inference:
        with torch.inference_mode():
            t = _set(block, kind, offset, size, stride)
            t.requires_grad_(flags.requires_grad)
    else:
        with torch.no_grad():
            view = None if base is None else _view(block, base, kind, offset, size, stride)
            t = _set(block, kind, offset, size, stride) if view is None else view
    if flags.conj:
        torch._C._set_conj(t, True)
    if flags.neg:
        torch._C._set_neg(t, True)
    if flags.inference:
        return t
    entered = enter(t, flags)
    raise_version(entered, int(changes))
    return entered


def as_leaf(t: Tensor, role: Role) -> Tensor:
    if role.is_parameter:
        return torch.nn.Parameter(t, role.requires_grad)
    return t.requires_grad_() if role.requires_grad else t


def acyclic(t: Tensor, grad: Any) -> Any:
    """The .grad to be of t. Raises ProtocolError where t is reached from it again: nothing would ever free the two."""
    following = grad
    while isinstance(following, Tensor):
        if following is t:
            raise ProtocolError("a tensor that is its own gradient")
        following = gradient(following)
    return grad


def from_packed(packed: Plain) -> Tensor:
    """A generator's state (n,), uint8. Raises ProtocolError for anything but bytes: bytearray(n) makes n of them."""
    if not isinstance(packed, bytes):
        raise ProtocolError("malformed state of a generator")
    return torch.frombuffer(bytearray(packed), dtype=torch.uint8)


def differentiable(value: Any) -> bool:
    """Whether this is a tensor that a gradient can go to."""
    return isinstance(value, Tensor) and value.requires_grad and not value.is_inference()


def _set(block: Block, dtype: torch.dtype, offset: int, size: Any, stride: Any) -> Tensor:
    t = torch.empty(0, dtype=dtype, device=block.device)
    t.set_(block.as_storage(), offset, size, stride)  # type: ignore[call-overload]
    return t.data  # whose changes are counted from 0: set_ was one


def _view(block: Block, base: Tensor, dtype: torch.dtype, offset: int, size: Any, stride: Any) -> Tensor | None:
    """The tensor as a view of the base, where that is one of the same memory: they then count changes together."""
    shift = base.untyped_storage().data_ptr() - block.address
    plain = not (base.is_conj() or base.is_neg() or base.is_inference())
    if not plain or base.dtype != dtype or shift % dtype.itemsize or not 0 <= shift <= offset * dtype.itemsize:
        return None
    if shift + base.untyped_storage().nbytes() > block.nbytes:
        return None
    return base.as_strided(size, stride, offset - shift // dtype.itemsize)


def _check(block: Block, dtype: torch.dtype, offset: Any, size: Any, stride: Any) -> None:
    numbers = [offset, *size, *stride]
    if any(type(n) is not int or not 0 <= n < 2**40 for n in numbers) or not len(size) == len(stride) <= 64:
        raise ProtocolError("malformed geometry of a tensor")
    bounded_size([max(n, 1) for n in size], dtype.itemsize, stride)
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else -1
    if (last + 1) * dtype.itemsize > block.nbytes:
        raise ProtocolError("a tensor that reaches beyond its storage")
