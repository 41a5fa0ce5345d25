"""Values between two processes: what one side packs, the other unpacks, with aliasing and identity kept.

Both sides number blocks of memory, and objects that have an identity, in the order in which they first pass. In a
reply, such a number means the very object that was sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograder.rpc.frames import ProtocolError, WireValue
from autograder.rpc.packing import NameOf, Packer, find_no_name
from autograder.rpc.registry import ExchangeRegistry
from autograder.rpc.tensors import Enter, make_leaf
from autograder.rpc.unpacking import Unpacker


class Exchange:
    """name_of: the name by which the other side knows a callable, or None. named: the object of such a name.

    opaque: packs an object that is no value (a handle), or raises. handle: unpacks it.
    enter: how this side makes a tensor that arrives into part of its own autograd graph.
    told: whether texts and bytes that arrive are masked.
    """

    __slots__ = ("blocks", "changed_blocks", "objects", "pack", "unpack", "write_blocks")

    def __init__(
        self,
        name_of: NameOf = find_no_name,
        named: Callable[[str], Any] | None = None,
        opaque: Callable[[Any], WireValue] | None = None,
        handle: Callable[[WireValue], Any] | None = None,
        enter: Enter = make_leaf,
        told: bool = False,
    ) -> None:
        known = ExchangeRegistry()
        self.objects, self.blocks = known.objects, known.blocks
        self.changed_blocks, self.write_blocks = known.changed_blocks, known.write_blocks
        self.pack = Packer(known, name_of, opaque).pack
        self.unpack = Unpacker(known, named, handle, enter, told).unpack


def split_arguments(values: Any, keywords: Any, text: type[str] = str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call of which all values were packed, those with keywords last. Raises ProtocolError."""
    if not isinstance(values, tuple) or not isinstance(keywords, list) or len(keywords) > len(values):
        raise ProtocolError("malformed arguments")
    if not keywords:
        return values, {}
    if not all(type(keyword) is str for keyword in keywords):
        raise ProtocolError("a keyword that is no text")
    first = len(values) - len(keywords)
    return values[:first], {text(keyword): values[first + n] for n, keyword in enumerate(keywords)}
