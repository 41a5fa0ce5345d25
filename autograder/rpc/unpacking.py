"""Unpacks a message into a value. Every number, size and name is checked, and all is bounded."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.rpc import blocks, values
from autograder.rpc.arrays import unpack_array
from autograder.rpc.fields import check_length, check_list, check_number, check_text
from autograder.rpc.frames import MAX_DEPTH, MAX_ITEMS, ProtocolError, WireValue
from autograder.rpc.masked_text import mask_value
from autograder.rpc.random_states import apply_torch_state
from autograder.rpc.registry import ExchangeRegistry
from autograder.rpc.tensors import Enter, check_acyclic, unpack_generator_state, unpack_tensor

MAX_COMPOSITE = 1_000
# Types whose hashes a student can choose.
HASHED_BY_CONTENT = (tuple, frozenset, complex, int, range, slice, np.generic)
TOO_MANY_KEYS = "too many keys of a set or dict that are neither numbers nor text"


class Unpacker:
    """Unpacks values. See ValueExchange for the arguments."""

    __slots__ = (
        "_collisions",
        "_composite",
        "_enter",
        "_first_by_hash",
        "_get_named",
        "_items",
        "_masked",
        "_registry",
        "_sizes",
        "_unpack_opaque",
    )

    def __init__(
        self,
        registry: ExchangeRegistry,
        get_named: Callable[[str], Any] | None,
        unpack_handle: Callable[[WireValue], Any] | None,
        enter: Enter,
        masked: bool,
    ) -> None:
        self._registry, self._get_named, self._unpack_opaque = registry, get_named, unpack_handle
        self._enter, self._masked = enter, masked
        self._sizes: dict[int, int] = {}  # by object number: its items, with everything inside
        self._items = 0  # in the message
        self._composite = 0  # keys in it that aren't plain values
        self._first_by_hash: dict[int, Any] = {}  # the first received value of each hash that isn't a plain value
        self._collisions = 0  # values that differ from the first one of their hash

    def unpack(self, message: WireValue) -> Any:
        """Return the value of a message. Raises ProtocolError, or NameError for a handle."""
        try:
            new_blocks, packed = check_length(message, 2)
            self._items, self._composite = 1, 0
            for block in check_list(new_blocks):
                nbytes, device, content = check_length(block, 3)
                self._registry.blocks.append(blocks.build_received_block(nbytes, device, content))
            return self._unpack(packed, 0)
        except (ProtocolError, NameError):
            raise
        except Exception as error:  # a message of another shape
            raise ProtocolError(f"malformed value: {type(error).__name__}: {str(error)[:200]}") from None

    def _charge_items(self, items: int) -> None:
        """Count items. Lists that each contain the next one twice are small here, but take forever to compare."""
        self._items += items
        if self._items > MAX_ITEMS:
            raise ProtocolError(f"a value of more than {MAX_ITEMS} items")

    def _unpack(self, packed: WireValue, depth: int) -> Any:
        """Unpack a value that is counted already."""
        if not isinstance(packed, list):
            return mask_value(packed) if self._masked else packed
        if depth > MAX_DEPTH:
            raise ProtocolError(f"nested deeper than {MAX_DEPTH}")
        unpack = UNPACKERS.get(check_text(packed[0]))
        if unpack is None:
            value = values.unpack(packed[0], packed[1:], lambda v: self._unpack_item(v, depth + 1))
            self._limit_hashes(value)
            return values.strip_names(value) if self._masked else value
        return unpack(self, packed, depth + 1)

    def _unpack_item(self, packed: WireValue, depth: int) -> Any:
        self._charge_items(1)
        return self._unpack(packed, depth)

    def _unpack_items(self, packed: list[WireValue], depth: int) -> list[Any]:
        """Unpack everything after the tag."""
        self._charge_items(len(packed) - 1)
        unpack = self._unpack
        return [unpack(packed[n], depth) for n in range(1, len(packed))]

    def _limit_hashes(self, value: Any) -> None:
        """Refuse many values of one hash, wherever they are: a check that puts them into a set would take hours."""
        if not isinstance(value, HASHED_BY_CONTENT) or _is_plain_key(value):
            return
        try:
            first = self._first_by_hash.setdefault(hash(value), value)
        except TypeError:  # it contains a list, so it can't be in a set
            return
        if first is not value and first != value:
            self._collisions += 1
            if self._collisions > MAX_COMPOSITE:
                raise ProtocolError("too many values of one hash")

    def _unpack_tuple(self, packed: list[WireValue], depth: int) -> Any:
        value = tuple(self._unpack_items(packed, depth))
        self._limit_hashes(value)
        return value

    def _unpack_list(self, packed: list[WireValue], depth: int) -> Any:
        items: list[Any] = []
        number, before = self._registry.register(items), self._items
        items += self._unpack_items(packed, depth)
        self._sizes[number] = self._items - before
        return items

    def _unpack_set(self, packed: list[WireValue], depth: int) -> Any:
        members: set[Any] = set()
        number, before = self._registry.register(members), self._items
        members.update([self._unpack_key(item, depth) for item in packed[1:]])
        self._sizes[number] = self._items - before
        return members

    def _unpack_dict(self, packed: list[WireValue], depth: int) -> Any:
        table: dict[Any, Any] = {} if packed[0] == "dict" else OrderedDict()
        number, before = self._registry.register(table), self._items
        for pair in packed[1:]:
            key, item = check_length(pair, 2)
            unpacked = self._unpack_key(key, depth)
            table[unpacked] = self._unpack_item(item, depth)
        self._sizes[number] = self._items - before
        return table

    def _unpack_key(self, packed: WireValue, depth: int) -> Any:
        """Unpack a key of a set or dict. Any number of tuples and of larger integers can be made to collide."""
        key = self._unpack_item(packed, depth)
        if not _is_plain_key(key):
            self._composite += 1
            if self._composite > MAX_COMPOSITE or isinstance(key, int):
                raise ProtocolError(TOO_MANY_KEYS)
        return key

    def _unpack_tensor(self, packed: list[WireValue], depth: int) -> Tensor:
        _, block, root, *layout, grad = packed
        base = None if root is None else self._unpack_item(root, depth)
        t = unpack_tensor(
            self._registry.get_block(block), base if isinstance(base, Tensor) else None, self._enter, layout
        )
        self._charge_items(self._get_size(self._registry.register(t)))
        if grad is not None:
            t.grad = check_acyclic(t, self._unpack_item(grad, depth))
        return t

    def _unpack_array(self, packed: list[WireValue], depth: int) -> np.ndarray[Any, Any]:
        _, block, *layout = packed
        a = unpack_array(self._registry.get_block(block), *layout)
        self._charge_items(self._get_size(self._registry.register(a)))
        return a

    def _unpack_known(self, packed: list[WireValue], depth: int) -> Any:
        _, number = packed
        value = self._registry.get_object(number)
        self._charge_items(self._get_size(check_number(number)))
        return value

    def _get_size(self, number: int) -> int:
        """Return the items of a known object, counted each time it occurs. A kilobyte of a tensor counts as one."""
        value = self._registry.objects[number]
        if isinstance(value, Tensor | np.ndarray):
            return int(value.itemsize * (value.numel() if isinstance(value, Tensor) else value.size)) >> 10
        return self._sizes.get(number, 1)

    def _unpack_generator(self, packed: list[WireValue], depth: int) -> torch.Generator:
        generator = torch.Generator(check_text(packed[1]))
        apply_torch_state(generator, unpack_generator_state(packed[2]))
        self._registry.register(generator)
        return generator

    def _unpack_name(self, packed: list[WireValue], depth: int) -> Any:
        if self._get_named is None or not isinstance(packed[1], str):
            raise ProtocolError("an unexpected name")
        return self._get_named(packed[1])

    def _unpack_handle(self, packed: list[WireValue], depth: int) -> Any:
        if self._unpack_opaque is None:
            raise ProtocolError("an unexpected handle")
        return self._unpack_opaque(packed[1])


UNPACKERS: dict[str, Callable[[Unpacker, list[WireValue], int], Any]] = {
    "known": Unpacker._unpack_known,
    "tensor": Unpacker._unpack_tensor,
    "array": Unpacker._unpack_array,
    "tuple": Unpacker._unpack_tuple,
    "list": Unpacker._unpack_list,
    "set": Unpacker._unpack_set,
    "dict": Unpacker._unpack_dict,
    "ordered": Unpacker._unpack_dict,
    "generator": Unpacker._unpack_generator,
    "named": Unpacker._unpack_name,
    "handle": Unpacker._unpack_handle,
}


def refuse_colliding(keys: Iterable[Any]) -> None:
    """Raise ProtocolError if these keys could have been made to collide in a set or dict."""
    composite = [key for key in keys if not _is_plain_key(key)]
    if len(composite) > MAX_COMPOSITE or any(isinstance(key, int) for key in composite):
        raise ProtocolError(TOO_MANY_KEYS)


def _is_plain_key(key: Any) -> bool:
    return isinstance(key, str | bytes | float | bool) or (isinstance(key, int) and abs(key) < 2**63)
