"""The requests and replies of calls and uses, by the names of their parts; in a frame each is a list in this order.

What comes from the other side becomes a message by read(), which counts its parts. Whoever reads it looks at each part
before it is believed. `Packed` is what Exchange.pack made.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from autograder.rpc.frames import ProtocolError, WireValue

Packed = WireValue
Message = TypeVar("Message", bound=tuple[Any, ...])


class Call(NamedTuple):
    """Examiner → student process: do this operation on the object of this name, or on the handle of this number."""

    target: str | int
    operation: str
    arguments: Packed  # a tuple; the last ones go by keywords
    keywords: list[str]


class GraphNode(NamedTuple):
    """A part of the autograd graph that a call has made. All but `number` are numbers of objects of the exchange."""

    number: int
    outputs: list[int]
    changed: list[int]  # arguments that were changed in place
    between: list[int]  # results of other nodes of the same call


class CallReply(NamedTuple):
    """raised: an exception, packed. differences: of the arguments, after the call. blocks: their memory, if changed.

    edges: arguments with a gradient. touched: handles that took part.
    """

    raised: WireValue
    result: Packed
    differences: Packed | None
    blocks: WireValue
    edges: list[int]
    touched: list[int]
    nodes: list[GraphNode]


class Use(NamedTuple):
    """Student process → examiner, while a call is out: use the check's own object of this number."""

    number: int
    operation: str
    arguments: Packed
    keywords: list[str]


class UseReply(NamedTuple):
    """node: the history that the use has made, if any; edges and made: what of the arguments and results is in it."""

    raised: WireValue
    result: Packed
    blocks: WireValue
    node: int | None
    edges: list[int]
    made: list[int]


class Product(NamedTuple):
    """Either way: the vector-Jacobian product of a node. needed: inputs whose gradients are wanted."""

    node: int
    gradients: Packed
    needed: list[int]
    task: int
    keep: bool
    create: bool
    accumulate: bool


class ProductReply(NamedTuple):
    """history: which gradients belong to a new node, that a pass which records itself has made."""

    raised: WireValue
    gradients: Packed
    blocks: WireValue
    node: int | None
    history: list[int]


def read(kind: type[Message], parts: WireValue) -> Message:
    """The message that these parts are, as many as it has. Raises ProtocolError."""
    names: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    if not isinstance(parts, list) or len(parts) != len(names):
        raise ProtocolError(f"no {kind.__name__}")
    return kind(*parts)
