"""The requests to a student process, and the requests and replies of calls and callbacks.

In a frame, each is a list of its fields in this order. read_message() turns a received list into a message and only
counts its fields, so a field whose type is only a WireValue must be checked before it's used (rpc/fields.py).
`Packed` is a result of ValueExchange.pack.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from autograder.rpc.frames import ProtocolError, WireValue

Packed = WireValue
Message = TypeVar("Message", bound=tuple[Any, ...])


class RequestKind(StrEnum):
    """What the examiner asks of a student process: the first item of a request, which says what follows."""

    RUN = "run"
    """source, execution count, names: run a cell, and reply with its outputs as JSON. The names are the course's after
    that cell."""
    FORK = "fork"
    """A socket follows the frame: reply with the pid of a fork that serves this socket."""
    LIST_CHANGED = "list_changed"
    """Reply with the course names that are bound to something else now."""
    PUT = "put"
    """path, bytes: append to a file in the scratch home."""
    PING = "ping"
    """Reply."""
    SERVE = "serve"
    """whether to restore the course's names: serve calls from then on. It has no reply."""


class Call(NamedTuple):
    """A request from the examiner: run an operation on the object of this name, or on the handle of this number."""

    target: WireValue
    operation: WireValue
    arguments: Packed
    """A tuple, keyword arguments last."""
    keywords: WireValue


class GraphNode(NamedTuple):
    """A part of the autograd graph of a call. All fields but `number` are numbers of objects of the exchange."""

    number: WireValue
    outputs: WireValue
    changed: WireValue
    """Arguments that were changed in place."""
    between: WireValue
    """Results of other nodes of the same call."""


class CallReply(NamedTuple):
    """The reply to a Call."""

    raised: WireValue
    """A packed exception."""
    result: Packed
    differences: Packed
    """How the call changed its arguments."""
    blocks: WireValue
    """The changed memory of the arguments."""
    edges: WireValue
    """Arguments that gradients go to."""
    touched: WireValue
    """Handles that were used."""
    nodes: WireValue
    """GraphNodes."""


class CallbackCall(NamedTuple):
    """A request from the student process while it serves a call: use the check's object of this number."""

    number: WireValue
    operation: WireValue
    arguments: Packed
    keywords: WireValue


class CallbackReply(NamedTuple):
    """The reply to a CallbackCall, or to a VjpRequest for the node of one."""

    raised: WireValue
    result: Packed
    blocks: WireValue
    node: WireValue
    """The new node of the autograd graph, if there is one."""
    edges: WireValue
    """Arguments that it takes as inputs."""
    outputs: WireValue
    """Results that it gives."""


class VjpRequest(NamedTuple):
    """A request in either direction: compute the vector-Jacobian product of a node."""

    node: WireValue
    gradients: Packed
    needed: WireValue
    """Inputs whose gradients are needed."""
    graph_task_id: WireValue
    retain_graph: WireValue
    create_graph: WireValue
    accumulate: WireValue


class VjpReply(NamedTuple):
    """The reply to a VjpRequest."""

    raised: WireValue
    gradients: Packed
    blocks: WireValue
    node: WireValue
    history: WireValue
    """Gradients that belong to the new node, if the backward pass recorded itself."""


def read_message(kind: type[Message], parts: WireValue) -> Message:
    """Build a message from its fields. Raises ProtocolError if their number is wrong."""
    names: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    if not isinstance(parts, list) or len(parts) != len(names):
        raise ProtocolError(f"not a {kind.__name__}")
    return kind(*parts)
