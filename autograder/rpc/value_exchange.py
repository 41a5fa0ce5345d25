"""Exchanges values between two processes. What one side packs the other unpacks, with aliasing and identity kept.

Both sides number blocks of memory, and objects with an identity, in the order in which they are first sent. In a
reply, such a number means the same object that was sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograder.rpc.frames import ProtocolError, WireValue
from autograder.rpc.packing import FindName, Packer, leave_unnamed
from autograder.rpc.registry import ExchangeRegistry
from autograder.rpc.tensors import Enter, make_leaf
from autograder.rpc.unpacking import Unpacker


class ValueExchange:
    """One exchange: a call and its reply, or a use and its reply.

    Args:
        find_name: Returns the name by which the other side knows a callable, or None.
        get_named: Returns the object of such a name.
        pack_opaque: Packs an object that isn't a plain value as a handle, or raises.
        unpack_handle: Returns the object of a handle.
        enter: Makes a received tensor part of this side's autograd graph.
        masked: Whether received texts and bytes are masked.
    """

    __slots__ = ("blocks", "objects", "pack", "read_changed_blocks", "unpack", "write_blocks")

    def __init__(
        self,
        find_name: FindName = leave_unnamed,
        get_named: Callable[[str], Any] | None = None,
        pack_opaque: Callable[[Any], WireValue] | None = None,
        unpack_handle: Callable[[WireValue], Any] | None = None,
        enter: Enter = make_leaf,
        masked: bool = False,
    ) -> None:
        registry = ExchangeRegistry()
        self.objects, self.blocks = registry.objects, registry.blocks
        self.read_changed_blocks, self.write_blocks = registry.read_changed_blocks, registry.write_blocks
        self.pack = Packer(registry, find_name, pack_opaque).pack
        self.unpack = Unpacker(registry, get_named, unpack_handle, enter, masked).unpack


def split_arguments(values: Any, keywords: WireValue, text: type[str] = str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Split the values of a call into args and kwargs.

    Args:
        values: The values of all arguments, keyword arguments last.
        keywords: The names of the keyword arguments.
        text: The type that the names get, such as MaskedText.

    Raises:
        ProtocolError: If they are malformed.
    """
    if not isinstance(values, tuple) or not isinstance(keywords, list) or len(keywords) > len(values):
        raise ProtocolError("malformed arguments")
    if not keywords:
        return values, {}
    if not all(type(keyword) is str for keyword in keywords):
        raise ProtocolError("a keyword that isn't text")
    first = len(values) - len(keywords)
    return values[:first], {text(keyword): values[first + n] for n, keyword in enumerate(keywords)}
