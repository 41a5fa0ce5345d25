"""Arguments of a call as tensors of this process that stand in the caller's graph as the originals do."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from autograder.rpc.blocks import CPU
from autograder.rpc.tensors import Role, make_leaf


class Shadows:
    """Makes arriving tensors leaves, parameters, or results of an operation, as they are for the caller.

    `leaked`: gradients that a backward pass of the student's own sent on beyond a non-leaf argument, by its identity.
    """

    def __init__(self) -> None:
        self.leaked: dict[int, Tensor] = {}

    def enter(self, t: Tensor, role: Role) -> Tensor:
        if role.is_leaf or not role.requires_grad:
            return make_leaf(t, role)
        anchor = torch.zeros((), requires_grad=True, device=CPU)
        holder: list[int] = []
        with torch.enable_grad():
            shadow: Tensor = _Arrive.apply(anchor, t, self, holder)  # type: ignore[no-untyped-call]
        holder.append(id(shadow))
        if role.retains_grad:
            shadow.retain_grad()
        return shadow


class _Arrive(torch.autograd.Function):
    """A tensor with a grad_fn over memory that is there already: no view, so that in-place operations are allowed."""

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, raw: Tensor, shadows: Shadows, holder: list[int]) -> Tensor:
        ctx.shadows, ctx.holder = shadows, holder
        return raw.data

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (grad,) = grads
        known = ctx.shadows.leaked.get(ctx.holder[0])
        ctx.shadows.leaked[ctx.holder[0]] = grad if known is None else known + grad
        return None, None, None, None
