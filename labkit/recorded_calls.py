"""`Seen(f)`: f, with a record of its calls and of how many of their graphs are still kept for backward."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map


class SeenCall(NamedTuple):
    """One call."""

    grad: bool
    """Whether a graph was being built."""
    autocast: bool
    """Whether autocast was on for the tensors' device."""
    shapes: tuple[tuple[int, ...], ...]
    """The shapes of the tensors among its arguments."""
    dtypes: tuple[torch.dtype, ...]
    """The dtypes of the tensors among its arguments."""


class Seen:
    """A stand-in for f that a check passes to a function.

    When grading, it stays in the grader: it records what happened, not what the student's process says.

    Attributes:
        calls: One SeenCall for each call, with `grad` (whether a graph was being built), `autocast`, and the `shapes`
            and `dtypes` of its tensors.
        kept: How many calls' graphs are still kept: 0 after a checkpointed forward pass, and after backward.
        backwards: How many gradients went back through its results, one for each tensor and backward pass.
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        self._f = f
        self.calls: list[SeenCall] = []
        self._kept, self._backwards = [0], [0]

    @property
    def kept(self) -> int:
        """How many calls' graphs are still kept: 0 after a checkpointed forward pass, and after backward."""
        return self._kept[0]

    @property
    def backwards(self) -> int:
        return self._backwards[0]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
        device = tensors[0].device.type if tensors else "cpu"
        shapes, dtypes = tuple(tuple(t.shape) for t in tensors), tuple(t.dtype for t in tensors)
        self.calls.append(SeenCall(torch.is_grad_enabled(), torch.is_autocast_enabled(device), shapes, dtypes))
        ticket = torch.zeros((), device="cpu")
        marked = tree_map(lambda t: _attach_mark(t, ticket, self._backwards), self._f(*args, **kwargs))
        if any(isinstance(t, Tensor) and t.requires_grad for t in tree_leaves(marked)):
            self._kept[0] += 1
            weakref.finalize(ticket.untyped_storage(), _forget, self._kept)
        return marked


def _attach_mark(value: Any, ticket: Tensor, backwards: list[int]) -> Any:
    if not isinstance(value, Tensor) or not value.requires_grad:
        return value
    return _Mark.apply(value, ticket, backwards)


class _Mark(torch.autograd.Function):
    """The identity, which saves a ticket for backward. The ticket is freed together with the graph."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, ticket: Tensor, backwards: list[int]) -> Tensor:
        ctx.save_for_backward(ticket)
        ctx.backwards = backwards
        return value.clone()  # in place, a custom function's view can't be changed, but f's result can

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        _ = ctx.saved_tensors  # like any function that needs what it saved, so a checkpoint recomputes it
        ctx.backwards[0] += 1
        return grads[0], None, None


def _forget(count: list[int]) -> None:
    count[0] -= 1
