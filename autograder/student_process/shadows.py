"""Recreates the arguments of a call as tensors with the same role in autograd as the caller's originals."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from autograder.rpc.blocks import CPU
from autograder.rpc.tensors import TensorTraits, make_leaf


class Shadows:
    """Makes received tensors leaves, parameters, or results of an operation, as they are for the caller."""

    def __init__(self) -> None:
        # By id of a non-leaf argument: the gradient that a backward pass of the student's code sent beyond it.
        self.leaked: dict[int, Tensor] = {}

    def enter(self, t: Tensor, traits: TensorTraits) -> Tensor:
        if traits.is_leaf or not traits.requires_grad:
            return make_leaf(t, traits)
        anchor = torch.zeros((), requires_grad=True, device=CPU)
        holder: list[int] = []
        with torch.enable_grad():
            shadow: Tensor = _Arrive.apply(anchor, t, self, holder)
        holder.append(id(shadow))
        if traits.retains_grad:
            shadow.retain_grad()
        return shadow


class _Arrive(torch.autograd.Function):
    """Gives existing memory a grad_fn. The result isn't a view, so in-place operations are allowed."""

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, raw: Tensor, shadows: Shadows, holder: list[int]) -> Tensor:
        ctx.shadows, ctx.holder = shadows, holder
        return raw.data

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (grad,) = grads
        earlier = ctx.shadows.leaked.get(ctx.holder[0])
        ctx.shadows.leaked[ctx.holder[0]] = grad if earlier is None else earlier + grad
        return None, None, None, None
