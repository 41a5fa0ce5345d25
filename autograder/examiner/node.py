"""The autograd node of a call in the student process: backward asks there for the vector-Jacobian product."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from autograder.examiner.connection import DroppedReferences, build_no_answer, check_number, check_numbers
from autograder.examiner.student_exceptions import rebuild_exception
from autograder.rpc.blocks import CPU
from autograder.rpc.exchange import Exchange
from autograder.rpc.frames import ProtocolError, WireValue
from autograder.rpc.messages import Product, ProductReply, read
from autograder.rpc.tensors import Role, make_leaf
from autograder.student.products import BackwardPass, get_current_pass


class NodeOwner(Protocol):
    """What a node needs to know of the RemoteNamespace that it belongs to."""

    dropped: DroppedReferences
    namespace: Mapping[str, Any]

    def ask(self, *request: WireValue) -> WireValue: ...


@dataclass
class Reply:
    """A differentiable reply: the number of its node there, and the tensors that came back."""

    remote: NodeOwner
    node: int
    outputs: list[Tensor] = field(default_factory=list)
    changed: list[Tensor] = field(default_factory=list)  # inputs that were changed in place

    def __del__(self) -> None:
        self.remote.dropped.nodes.append(self.node)


class RemoteNode(torch.autograd.Function):
    """Differentiable to any order: a backward pass that records itself becomes another such node."""

    @staticmethod
    def connect(reply: Reply, inputs: list[Tensor], outputs: list[Tensor], changed: list[Tensor]) -> None:
        """Give these outputs a history: results of an operation on the inputs, those changed in place included."""
        reply.outputs, reply.changed = outputs, changed
        # The student's graph may need no input of the examiner's.
        anchor = torch.zeros((), requires_grad=True, device=CPU)
        with torch.enable_grad():
            made = RemoteNode.apply(reply, anchor, *inputs)  # type: ignore[no-untyped-call]
        if any(new is not old for new, old in zip(made, [*outputs, *changed], strict=True)):
            raise ProtocolError("results that are no new tensors")
        reply.outputs, reply.changed = [], []  # they refer to this node: it must not keep them alive

    @staticmethod
    def forward(ctx: Any, reply: Reply, anchor: Tensor, *inputs: Tensor) -> Any:
        ctx.reply, ctx.inputs = reply, inputs
        ctx.set_materialize_grads(False)
        if reply.changed:
            ctx.mark_dirty(*reply.changed)
        return (*reply.outputs, *reply.changed)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        needed = [i for i, wanted in enumerate(ctx.needs_input_grad[2:]) if wanted]
        found = _request_product(ctx.reply, list(grads), ctx.inputs, needed, get_current_pass(ctx.next_functions[0][0]))
        result: list[Tensor | None] = [None] * len(ctx.inputs)
        for i, grad in zip(needed, found, strict=True):
            result[i] = grad
        return (None, None, *result)


class _Now(torch.autograd.Function):
    """The tensor with the history that it has now, whatever will be done to it in place."""

    @staticmethod
    def forward(ctx: Any, t: Tensor) -> Tensor:
        return t.data

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0]


def snapshot_history(t: Tensor) -> Tensor:
    if not t.requires_grad:
        return t
    with torch.enable_grad():
        now: Tensor = _Now.apply(t)  # type: ignore[no-untyped-call]
    return now


class ArrivingTensors:
    """Makes arriving tensors leaves or parameters, as they are there. What has a history gets it from a RemoteNode."""

    def __init__(self) -> None:
        self._retaining: list[Tensor] = []

    def enter(self, t: Tensor, role: Role) -> Tensor:
        if role.is_leaf:
            return make_leaf(t, role)
        if role.retains_grad:
            self._retaining.append(t)
        return t

    def retain_gradients(self) -> None:
        """Once the history is there."""
        for t in self._retaining:
            if t.requires_grad:
                t.retain_grad()


def _request_product(
    reply: Reply, grads: list[Tensor | None], inputs: tuple[Tensor, ...], needed: list[int], how: BackwardPass
) -> list[Tensor | None]:
    exchange = Exchange(enter=ArrivingTensors().enter)
    message = exchange.pack(grads)
    blocks = len(exchange.blocks)
    answer = reply.remote.ask("vjp", *Product(reply.node, message, needed, *how))
    try:
        product = read(ProductReply, answer)
        if product.raised is None:
            exchange.write_blocks(product.blocks, blocks)
            found = _check_gradients(exchange.unpack(product.gradients), [inputs[i] for i in needed])
            if product.node is not None:
                _record(reply, check_number(product.node), found, [*inputs, *_select_recorded(grads)], product.history)
            return found
        error = rebuild_exception(product.raised, reply.remote.namespace)
    except Exception:
        raise build_no_answer() from None
    raise error


def _check_gradients(found: Any, inputs: list[Tensor]) -> list[Tensor | None]:
    if not isinstance(found, list):
        raise ProtocolError("malformed gradients")
    for grad, t in zip(found, inputs, strict=True):
        if grad is not None and (not isinstance(grad, Tensor) or grad.shape != t.shape):
            raise ProtocolError("a gradient of another shape than its input")
    return found


def _record(reply: Reply, node: int, found: list[Tensor | None], inputs: list[Tensor], history: WireValue) -> None:
    recorded = [found[i] for i in check_numbers(history, len(found))]
    outputs = [g for g in recorded if g is not None]
    RemoteNode.connect(Reply(reply.remote, node), inputs, outputs, [])


def _select_recorded(grads: list[Tensor | None]) -> list[Tensor]:
    return [g for g in grads if g is not None and g.requires_grad]
