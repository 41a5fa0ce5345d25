"""The autograd node of a call in the student process. Its backward requests the vector-Jacobian product from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from autograder.examiner.connection import DroppedReferences, build_invalid_reply
from autograder.examiner.student_exceptions import rebuild_exception
from autograder.rpc.blocks import CPU
from autograder.rpc.fields import check_number, check_numbers
from autograder.rpc.frames import ProtocolError, WireValue
from autograder.rpc.requests import VjpReply, VjpRequest, read_message
from autograder.rpc.tensors import TensorTraits, make_leaf
from autograder.rpc.value_exchange import ValueExchange
from autograder.rpc.vjp import BackwardOptions, get_current_options


class NodeOwner(Protocol):
    """The part of a RemoteNamespace that its nodes use."""

    dropped: DroppedReferences
    namespace: Mapping[str, Any]

    def ask(self, *request: WireValue) -> WireValue: ...


@dataclass
class Reply:
    """A differentiable reply."""

    owner: NodeOwner
    node: int
    """Its number in the student process."""
    outputs: list[Tensor] = field(default_factory=list)
    changed: list[Tensor] = field(default_factory=list)
    """Inputs that were changed in place."""

    def __del__(self) -> None:
        self.owner.dropped.add_node(self.node)


class RemoteNode(torch.autograd.Function):
    """The node of a reply. A backward pass that records itself creates another one, so gradients have any order."""

    @staticmethod
    def connect(reply: Reply, inputs: list[Tensor], outputs: list[Tensor], changed: list[Tensor]) -> None:
        """Make the outputs, and the inputs changed in place, the results of this node in the autograd graph.

        Args:
            inputs: The tensors that its backward returns gradients for.
            changed: The inputs that the call changed in place.
        """
        reply.outputs, reply.changed = outputs, changed
        # The student's graph may use none of the examiner's inputs.
        anchor = torch.zeros((), requires_grad=True, device=CPU)
        with torch.enable_grad():
            results = RemoteNode.apply(reply, anchor, *inputs)
        if any(new is not old for new, old in zip(results, [*outputs, *changed], strict=True)):
            raise ProtocolError("results that aren't new tensors")
        reply.outputs, reply.changed = [], []  # they refer to this node, which must not keep them alive

    @staticmethod
    def forward(ctx: Any, reply: Reply, anchor: Tensor, *inputs: Tensor) -> Any:
        ctx.reply, ctx.inputs = reply, inputs
        ctx.set_materialize_grads(False)
        if reply.changed:
            ctx.mark_dirty(*reply.changed)
        return (*reply.outputs, *reply.changed)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        needed = [i for i, is_needed in enumerate(ctx.needs_input_grad[2:]) if is_needed]
        options = get_current_options(ctx.next_functions[0][0])
        needed_grads = _request_vjp(ctx.reply, list(grads), ctx.inputs, needed, options)
        result: list[Tensor | None] = [None] * len(ctx.inputs)
        for i, grad in zip(needed, needed_grads, strict=True):
            result[i] = grad
        return (None, None, *result)


class _Snapshot(torch.autograd.Function):
    """The tensor with its current history, whatever is done to it in place later."""

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
        snapshot: Tensor = _Snapshot.apply(t)
    return snapshot


class ArrivingTensors:
    """Makes received tensors leaves or parameters, as in the student process. Others get a RemoteNode later."""

    def __init__(self) -> None:
        self._retaining: list[Tensor] = []

    def enter(self, t: Tensor, traits: TensorTraits) -> Tensor:
        if traits.is_leaf:
            return make_leaf(t, traits)
        if traits.retains_grad:
            self._retaining.append(t)
        return t

    def retain_gradients(self) -> None:
        """Call retain_grad() where the student process did. Only possible once tensors have their RemoteNode."""
        for t in self._retaining:
            if t.requires_grad:
                t.retain_grad()


def _request_vjp(
    reply: Reply, grads: list[Tensor | None], inputs: tuple[Tensor, ...], needed: list[int], options: BackwardOptions
) -> list[Tensor | None]:
    """Return the gradients of the needed inputs from the student process. Raises what its backward raised."""
    exchange = ValueExchange(enter=ArrivingTensors().enter)
    message = exchange.pack(grads)
    blocks = len(exchange.blocks)
    packed_reply = reply.owner.ask("vjp", *VjpRequest(reply.node, message, needed, *options))
    try:
        vjp_reply = read_message(VjpReply, packed_reply)
        if vjp_reply.raised is None:
            exchange.write_blocks(vjp_reply.blocks, blocks)
            results = _check_gradients(exchange.unpack(vjp_reply.gradients), [inputs[i] for i in needed])
            if vjp_reply.node is not None:
                graph_inputs = [*inputs, *(g for g in grads if g is not None and g.requires_grad)]
                _record(reply, check_number(vjp_reply.node), results, graph_inputs, vjp_reply.history)
            return results
        error = rebuild_exception(vjp_reply.raised, reply.owner.namespace)
    except Exception:
        raise build_invalid_reply() from None
    raise error


def _check_gradients(grads: Any, inputs: list[Tensor]) -> list[Tensor | None]:
    if not isinstance(grads, list):
        raise ProtocolError("malformed gradients")
    for grad, t in zip(grads, inputs, strict=True):
        if grad is not None and (not isinstance(grad, Tensor) or grad.shape != t.shape):
            raise ProtocolError("a gradient of another shape than its input")
    return grads


def _record(reply: Reply, node: int, grads: list[Tensor | None], inputs: list[Tensor], history: WireValue) -> None:
    recorded = [grads[i] for i in check_numbers(history, len(grads))]
    RemoteNode.connect(Reply(reply.owner, node), inputs, [g for g in recorded if g is not None], [])
