"""Packs a value into a message in one pass, then finds the blocks of memory behind its tensors and arrays."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.rpc import blocks, values
from autograder.rpc.arrays import pack_array_layout
from autograder.rpc.blocks import Block
from autograder.rpc.frames import MAX_DEPTH, ProtocolError, WireValue
from autograder.rpc.masked_text import MaskedBytes, MaskedText, unmask_bytes, unmask_text
from autograder.rpc.registry import ExchangeRegistry
from autograder.rpc.tensors import get_base, get_gradient, pack_tensor_layout

SIMPLE = (type(None), bool, float, str, bytes)
ATOMS = frozenset((type(None), bool, float, bytes))
TENSOR_OFFSET, ARRAY_OFFSET = 4, 3  # the index of the offset in a packed value; the block's number is at 1
FindName = Callable[[Any], str | None]


def leave_unnamed(_: Any) -> None:
    return None


class Packer:
    """Packs values. See ValueExchange for the arguments."""

    __slots__ = ("_find_name", "_pack_opaque", "_places", "_registry")

    def __init__(
        self, registry: ExchangeRegistry, find_name: FindName, pack_opaque: Callable[[Any], WireValue] | None
    ) -> None:
        self._registry, self._find_name, self._pack_opaque = registry, find_name, pack_opaque
        self._places: list[tuple[list[Any], int, Block, int]] = []  # (packed, index of its offset, memory, unit)

    def pack(self, value: Any) -> WireValue:
        """Return [new blocks, packed value]. Raises ProtocolError if this isn't a value of the protocol."""
        before = len(self._registry.objects), len(self._registry.blocks)
        try:
            packed = self._pack(value, 0)
            return [self._assign_blocks() if self._places else [], packed]
        except BaseException:
            self._registry.forget_after(*before)
            raise
        finally:
            self._places = []

    def _assign_blocks(self) -> list[WireValue]:
        """Write its block and offset into each packed tensor and array, and return the new blocks, packed."""
        known = self._registry.blocks
        first, index = len(known), blocks.Index(known)
        needed = [block for _, _, block, _ in self._places]
        if len(needed) > 1:
            storages = {(b.device, b.address, b.nbytes): b for b in needed if b.storage is not None}
            needed = blocks.merge_blocks([*storages.values(), *[b for b in needed if b.storage is None]])
        if new := [b for b in needed if b.nbytes and index.find(b.address, b.nbytes, b.device) < 0]:
            known += new
            index = blocks.Index(known)
        for packed, offset, block, unit in self._places:
            packed[1] = number = index.find(block.address, block.nbytes, block.device)
            if number >= 0 and (shift := block.address - known[number].address):
                if shift % unit:
                    raise ProtocolError("a storage that isn't aligned to its dtype")
                packed[offset] += shift // unit
        return [_pack_block(block) for block in known[first:]]

    def _pack(self, value: Any, depth: int) -> WireValue:
        """Pack a value. Frequent types are handled first, and an object that both sides know becomes its number."""
        kind = type(value)
        if kind in ATOMS:
            atom: WireValue = value
            return atom
        if kind is int:
            number: int = value
            return number if -(2**63) <= number < 2**63 else ["int", *values.pack_int(number)]
        if kind is str or kind is MaskedText:
            text: str = unmask_text(value)
            if not text.isascii():
                text.encode("utf-8")  # raises for half a surrogate pair, which no message can hold
            return text
        if kind is MaskedBytes:
            return unmask_bytes(value)
        if depth > MAX_DEPTH:
            raise ProtocolError(f"nested deeper than {MAX_DEPTH}")
        known = self._registry.get_number(value)
        if known is not None:
            return ["known", known]
        return PACKERS.get(kind, Packer._pack_other)(self, value, depth + 1)

    def _pack_items(self, tag: str, items: Iterable[Any], depth: int) -> list[WireValue]:
        pack = self._pack
        return [tag, *[pack(item, depth) for item in items]]

    def _pack_tuple(self, value: Any, depth: int) -> WireValue:
        return self._pack_items("tuple", value, depth)

    def _pack_list(self, value: Any, depth: int) -> WireValue:
        self._registry.register(value)
        return self._pack_items("list", value, depth)

    def _pack_set(self, value: Any, depth: int) -> WireValue:
        self._registry.register(value)
        return self._pack_items("set", value, depth)

    def _pack_dict(self, value: Any, depth: int) -> WireValue:
        self._registry.register(value)
        pairs: list[WireValue] = [[self._pack(k, depth), self._pack(v, depth)] for k, v in value.items()]
        return ["dict" if type(value) is dict else "ordered", *pairs]

    def _pack_tensor(self, t: Tensor, depth: int) -> WireValue:
        block = blocks.build_tensor_block(t)
        root = None if (b := get_base(t)) is None else self._pack(b, depth)
        self._registry.register(t)
        grad = None if (g := get_gradient(t)) is None else self._pack(g, depth)
        packed: list[Any] = ["tensor", -1, root, *pack_tensor_layout(t), grad]
        self._places.append((packed, TENSOR_OFFSET, block, t.element_size()))
        return packed

    def _pack_array(self, a: np.ndarray[Any, Any], depth: int) -> WireValue:
        block = blocks.build_array_block(a)
        self._registry.register(a)
        packed: list[Any] = ["array", -1, *pack_array_layout(a, a.ctypes.data - block.address)]
        self._places.append((packed, ARRAY_OFFSET, block, 1))
        return packed

    def _pack_other(self, value: Any, depth: int) -> WireValue:
        """Pack a value of a subclass or a rarer type, by name if it's a known callable, else as a handle."""
        if isinstance(value, Tensor):
            return self._pack_tensor(value, depth)
        if isinstance(value, np.ndarray):
            return self._pack_array(value, depth)
        if isinstance(value, tuple):
            return values.pack_tuple(value, lambda v: self._pack(v, depth))
        if isinstance(value, torch.Generator):
            self._registry.register(value)
            return ["generator", str(value.device), value.get_state().numpy().tobytes()]
        packed = values.pack(value, lambda v: self._pack(v, depth))
        if packed is not None:
            return packed
        name = self._find_name(value) if callable(value) else None
        if name is not None:
            return ["named", name]
        if self._pack_opaque is None:
            raise ProtocolError(f"a {type(value).__name__} isn't a value of the protocol")
        return ["handle", self._pack_opaque(value)]


# By exact type; _pack_other() handles all others.
PACKERS: dict[type, Callable[[Packer, Any, int], WireValue]] = {
    tuple: Packer._pack_tuple,
    list: Packer._pack_list,
    set: Packer._pack_set,
    dict: Packer._pack_dict,
    OrderedDict: Packer._pack_dict,
    Tensor: Packer._pack_tensor,
    torch.nn.Parameter: Packer._pack_tensor,
    np.ndarray: Packer._pack_array,
}


def _pack_block(block: Block) -> WireValue:
    block.sent = block.read()
    return [block.nbytes, block.device, block.sent]
