"""`Seen(f)`: f, with a record of how it was called and how much of its history is still kept for backward."""

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
    """Hand it to a function in place of f. `calls`: one SeenCall for each time that it was called.

    `backwards`: how many gradients have gone back through its results, one for each tensor and backward pass.

    In grading it stays in the grader: what it records is what happened, not what the student's process says.
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        self._f = f
        self.calls: list[SeenCall] = []
        self._kept, self._backwards = [0], [0]

    @property
    def kept(self) -> int:
        """Calls whose graph is still there: 0 behind a checkpointed forward pass, and after backward."""
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
    return _Mark.apply(value, ticket, backwards)  # type: ignore[no-untyped-call]


class _Mark(torch.autograd.Function):
    """Hands its input on, and saves a ticket for backward: as long as that is there, so is the graph."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, ticket: Tensor, backwards: list[int]) -> Tensor:
        ctx.save_for_backward(ticket)
        ctx.backwards = backwards
        return value.clone()  # a view of a custom function's could not be changed in place, as what f gave could

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        _ = ctx.saved_tensors  # as any function does that needs what it saved: so a checkpoint computes it again
        ctx.backwards[0] += 1
        return grads[0], None, None


def _forget(kept: list[int]) -> None:
    kept[0] -= 1
