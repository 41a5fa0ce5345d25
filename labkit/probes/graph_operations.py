"""Runs one operation of a captured graph: only from a closed set, and within limits of size and work."""

from __future__ import annotations

import math
import operator
from typing import Any

import torch
from torch import Tensor

from labkit.probes.allowed_operations import has_valid_types

MAX_ELEMENTS = 2**22  # of one tensor
MAX_TOTAL = 2**26  # elements of all results together
MAX_WORK = 2**32  # multiplications
MAX_PARTS = 1_024  # of a split tensor
MAX_NUMBER = 2**62
CREATES = {"full", "zeros", "ones", "arange", "scalar_tensor", "eye", "linspace"}
CREATES |= {"new_zeros", "new_ones", "new_full", "zeros_like", "ones_like", "full_like", "_to_copy"}


class GraphError(ValueError):
    """A captured graph that's malformed or too large to replay."""


class ReplayBudget:
    """The elements and multiplications that one replay has used."""

    def __init__(self) -> None:
        self.elements, self.work = 0, 0.0

    def spend(self, elements: int, work: float) -> None:
        self.elements += elements
        self.work += work
        if self.elements > MAX_TOTAL or self.work > MAX_WORK:
            raise GraphError("too much work for a replay")


def run_operation(operation: Any, args: list[Any], kwargs: dict[str, Any], inputs: Any, budget: ReplayBudget) -> Any:
    """Run the operation and return its result.

    Args:
        inputs: The graph's inputs, whose device counts for new tensors.
        budget: What the replay has used so far, including this operation afterwards.

    Raises:
        GraphError: If the operation isn't allowed or is too large. What the operation itself raises isn't caught.
    """
    if not isinstance(operation, torch._ops.OpOverload):
        return _compute_arithmetic(operation, args)
    name = operation._schema.name.removeprefix("aten::")
    if not has_valid_types(operation, args, kwargs):
        raise GraphError(f"{name}: an argument has the wrong type")
    if name in ("sym_size", "sym_numel"):
        return operation(*args)
    _refuse_harmful(name, args, kwargs)
    if name in CREATES:  # on `meta` first, to learn the sizes without computing
        device = next((t.device for t in (*inputs, *args) if isinstance(t, Tensor)), torch.device("cpu"))
        result = operation(*_move_to_meta(args), **kwargs, device="meta")
        kwargs = {**kwargs, "device": device}
    else:
        result = operation(*_move_to_meta(args), **_move_to_meta(kwargs))
    sizes = [t.numel() for t in _find_tensors(result)]
    if any(size > MAX_ELEMENTS for size in sizes):
        raise GraphError(f"a result of {max(sizes)} elements: at most {MAX_ELEMENTS} can be replayed")
    budget.spend(sum(sizes), _estimate_work(name, args, sizes))
    return operation(*args, **kwargs)


def _compute_arithmetic(operation: Any, args: list[Any]) -> Any:
    """Compute with numbers, such as sizes, or pick a part of a result. Nothing else is sure to be small."""
    if operation is operator.getitem:
        whole, part = args
        if not isinstance(whole, list | tuple) or type(part) is not int:
            raise GraphError("an item of a value that isn't a list or tuple")
        return whole[part]
    if any(type(a) not in (bool, int, float) for a in args):
        raise GraphError("arithmetic with a value that isn't a number")
    return check_magnitude(operation(*args))


def _refuse_harmful(name: str, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Refuse operations that would crash the process or take long to check, and copy what they might change."""
    tensors = _find_tensors([args, list(kwargs.values())])
    if any(t.numel() > MAX_ELEMENTS for t in tensors):
        raise GraphError(f"a tensor of more than {MAX_ELEMENTS} elements")
    if name == "div" and "trunc" in [*args, *kwargs.values()] and not any(_is_fractional(t) for t in tensors):
        raise GraphError("integers divided with rounding_mode='trunc'")  # -2**63 / -1 is a fatal signal
    if name in ("split", "chunk", "unbind") and max(tensors[0].shape, default=0) > MAX_PARTS:
        raise GraphError(f"a tensor split into more than {MAX_PARTS} parts")
    if "batch_norm" in name:
        channels = tensors[0].shape[1]
        if any(t.shape != (channels,) for t in tensors[1:]):  # the operation doesn't check this
            raise GraphError("batch norm with parameters of another size")
        args[1:5] = [t.clone() if isinstance(t, Tensor) else t for t in args[1:5]]
        kwargs |= {key: t.clone() for key, t in kwargs.items() if isinstance(t, Tensor)}


def _estimate_work(name: str, args: list[Any], sizes: list[int]) -> float:
    """Estimate an operation's multiplications, to within a small factor; 0 if it reads each element only once."""
    out = sizes[0] if sizes else 0
    tensors = _find_tensors(args)
    if name in ("mm", "bmm", "matmul", "mv", "dot", "linear"):
        return float(out) * (tensors[0].shape[-1] if tensors[0].dim() else 1)
    if name in ("addmm", "baddbmm"):
        return float(out) * tensors[1].shape[-1]
    if name.startswith("conv"):
        weight = tensors[1]
        return float(max(out, tensors[0].numel())) * weight.numel() / max(weight.shape[0], 1)
    if "pool" in name:
        return float(out) * math.prod(args[1] if isinstance(args[1], list) else [args[1]] * 2)
    return 0.0


def _move_to_meta(value: Any) -> Any:
    """Replace tensors by ones without memory."""
    if isinstance(value, Tensor):
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    if isinstance(value, list | tuple):
        return type(value)(_move_to_meta(v) for v in value)
    return {k: _move_to_meta(v) for k, v in value.items()} if isinstance(value, dict) else value


def _find_tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [t for v in value for t in _find_tensors(v)] if isinstance(value, list | tuple) else []


def _is_fractional(t: Tensor) -> bool:
    return t.is_floating_point() or t.is_complex()


def check_magnitude(value: Any) -> Any:
    if type(value) is int and abs(value) > MAX_NUMBER:
        raise GraphError("a number out of range")
    return value
