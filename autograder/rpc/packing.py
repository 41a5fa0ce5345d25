"""From a value to a message, in one walk. The memory behind tensors and arrays is found at its end."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.rpc import blocks, values
from autograder.rpc.arrays import describe_array
from autograder.rpc.blocks import Block
from autograder.rpc.frames import MAX_DEPTH, ProtocolError, WireValue
from autograder.rpc.masked_text import MaskedBytes, MaskedText, unmask_bytes, unmask_text
from autograder.rpc.registry import ExchangeRegistry
from autograder.rpc.tensors import describe_tensor, get_base, get_gradient

SIMPLE = (type(None), bool, float, str, bytes)
ATOMS = frozenset((type(None), bool, float, bytes))
TENSOR_OFFSET, ARRAY_OFFSET = 4, 3  # where it stands in what is packed; the number of the block stands at 1
NameOf = Callable[[Any], str | None]


def find_no_name(_: Any) -> None:
    return None


class Packer:
    """name_of: the name by which the other side knows a callable, or None. opaque: packs what is no value."""

    __slots__ = ("_known", "_name_of", "_opaque", "_places")

    def __init__(self, known: ExchangeRegistry, name_of: NameOf, opaque: Callable[[Any], WireValue] | None) -> None:
        self._known, self._name_of, self._opaque = known, name_of, opaque
        self._places: list[tuple[list[WireValue], int, Block, int]] = []  # (packed, index of its offset, memory, unit)

    def pack(self, value: Any) -> WireValue:
        """[new blocks, value]. Raises ProtocolError where the value is not one of the protocol's."""
        before = len(self._known.objects), len(self._known.blocks)
        try:
            packed = self._pack(value, 0)
            return [self._settle() if self._places else [], packed]
        except BaseException:
            self._known.forget_after(*before)
            raise
        finally:
            self._places = []

    def _settle(self) -> list[WireValue]:
        """The new blocks, in which all that was packed is now told its place."""
        known = self._known.blocks
        first, index = len(known), blocks.Index(known)
        found = [block for _, _, block, _ in self._places]
        if len(found) > 1:
            storages = {(b.device, b.address, b.nbytes): b for b in found if b.storage is not None}
            found = blocks.merge_blocks([*storages.values(), *[b for b in found if b.storage is None]])
        if new := [b for b in found if b.nbytes and index.find(b.address, b.nbytes, b.device) < 0]:
            known += new
            index = blocks.Index(known)
        for packed, offset, block, unit in self._places:
            packed[1] = number = index.find(block.address, block.nbytes, block.device)
            if number >= 0 and (shift := block.address - known[number].address):
                if shift % unit:
                    raise ProtocolError("a storage that is not aligned to its dtype")
                packed[offset] += shift // unit
        return [_pack_block(block) for block in known[first:]]

    def _pack(self, value: Any, depth: int) -> WireValue:
        kind = type(value)
        if kind in ATOMS:
            return value
        if kind is int:
            return value if -(2**63) <= value < 2**63 else ["int", *values.pack_int(value)]
        if kind is str or kind is MaskedText:
            text: str = unmask_text(value)
            if not text.isascii():
                text.encode("utf-8")  # raises where it holds half a character, which no message can
            return text
        if kind is MaskedBytes:
            return unmask_bytes(value)
        if depth > MAX_DEPTH:
            raise ProtocolError(f"nested deeper than {MAX_DEPTH}")
        number = self._known.get_number(value)
        if number is not None:
            return ["known", number]
        return PACKERS.get(kind, Packer._pack_other)(self, value, depth + 1)

    def _items(self, tag: str, items: Iterable[Any], depth: int) -> list[WireValue]:
        pack = self._pack
        return [tag, *[pack(item, depth) for item in items]]

    def _tuple(self, value: Any, depth: int) -> WireValue:
        return self._items("tuple", value, depth)

    def _list(self, value: Any, depth: int) -> WireValue:
        self._known.register(value)
        return self._items("list", value, depth)

    def _set(self, value: Any, depth: int) -> WireValue:
        self._known.register(value)
        return self._items("set", value, depth)

    def _dict(self, value: Any, depth: int) -> WireValue:
        self._known.register(value)
        pairs = [[self._pack(k, depth), self._pack(v, depth)] for k, v in value.items()]
        return ["dict" if type(value) is dict else "ordered", *pairs]

    def _tensor(self, t: Tensor, depth: int) -> WireValue:
        block = blocks.build_tensor_block(t)
        root = None if (b := get_base(t)) is None else self._pack(b, depth)
        self._known.register(t)
        grad = None if (g := get_gradient(t)) is None else self._pack(g, depth)
        packed = ["tensor", -1, root, *describe_tensor(t), grad]
        self._places.append((packed, TENSOR_OFFSET, block, t.element_size()))
        return packed

    def _array(self, a: np.ndarray[Any, Any], depth: int) -> WireValue:
        block = blocks.build_array_block(a)
        self._known.register(a)
        packed = ["array", -1, *describe_array(a, a.ctypes.data - block.address)]
        self._places.append((packed, ARRAY_OFFSET, block, 1))
        return packed

    def _pack_other(self, value: Any, depth: int) -> WireValue:
        if isinstance(value, Tensor):
            return self._tensor(value, depth)
        if isinstance(value, np.ndarray):
            return self._array(value, depth)
        if isinstance(value, tuple):
            return values.pack_tuple(value, lambda v: self._pack(v, depth))
        if isinstance(value, torch.Generator):
            self._known.register(value)
            return ["generator", str(value.device), value.get_state().numpy().tobytes()]
        packed = values.pack(value, lambda v: self._pack(v, depth))
        if packed is not None:
            return packed
        name = self._name_of(value) if callable(value) else None
        if name is not None:
            return ["named", name]
        if self._opaque is None:
            raise ProtocolError(f"a {type(value).__name__} is no value of the protocol")
        return ["handle", self._opaque(value)]


# By the exact type; any other goes the long way.
PACKERS: dict[type, Callable[[Packer, Any, int], WireValue]] = {
    tuple: Packer._tuple,
    list: Packer._list,
    set: Packer._set,
    dict: Packer._dict,
    OrderedDict: Packer._dict,
    Tensor: Packer._tensor,
    torch.nn.Parameter: Packer._tensor,
    np.ndarray: Packer._array,
}


def _pack_block(block: Block) -> WireValue:
    block.sent = block.read()
    return [block.nbytes, block.device, block.sent]
