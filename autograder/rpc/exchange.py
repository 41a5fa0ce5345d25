"""Values between two processes: what one side packs, the other unpacks, with aliasing and identity kept.

Both sides number blocks of memory, and objects that have an identity (tensors, arrays, lists, dicts, sets,
generators), in the order in which they first pass. In a reply, such a number means the very object that was sent.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.rpc import blocks, values
from autograder.rpc.arrays import array_geometry, rebuild_array
from autograder.rpc.blocks import Block
from autograder.rpc.frames import MAX_DEPTH, MAX_ITEMS, Plain, ProtocolError
from autograder.rpc.tensors import Enter, acyclic, as_leaf, base, from_packed, geometry, gradient, rebuild
from autograder.rpc.told import Told, as_sent

MAX_COMPOSITE = 1_000
TOO_MANY_KEYS = "too many keys of a set or dict that are no plain values"
SIMPLE = (type(None), bool, float, str, bytes)
NameOf = Callable[[Any], str | None]


def no_name(_: Any) -> None:
    return None


class Exchange:
    """name_of: the name by which the other side knows a callable, or None. named: the object of such a name.

    opaque: packs an object that is no value (a handle), or raises. handle: unpacks it.
    enter: how this side makes a tensor that arrives into part of its own autograd graph.
    told: whether texts that arrive are marked as such.
    """

    def __init__(
        self,
        name_of: NameOf = no_name,
        named: Callable[[str], Any] | None = None,
        opaque: Callable[[Any], Plain] | None = None,
        handle: Callable[[Plain], Any] | None = None,
        enter: Enter = as_leaf,
        told: bool = False,
    ) -> None:
        self.name_of, self.named, self.opaque, self.handle, self.enter = name_of, named, opaque, handle, enter
        self.told = told
        self.objects: list[Any] = []
        self.blocks: list[Block] = []
        self._index = blocks.Index(self.blocks)  # of the message that is being packed
        self._numbers: dict[int, int] = {}
        self._sizes: dict[int, int] = {}  # of what has arrived, by number: items, with everything inside
        self._items = 0  # of the message that is being unpacked
        self._composite = 0  # keys in it that are no plain values

    def pack(self, value: Any) -> Plain:
        """[new blocks, value]. Raises ProtocolError where the value is not one of the protocol's."""
        first = len(self.blocks)
        found: list[Block] = []
        self._collect(value, found, set(), 0)
        self._index = blocks.Index(self.blocks)
        merged = blocks.merged(found)
        if new := [b for b in merged if b.nbytes and self._index.find(b.address, b.nbytes, b.device) < 0]:
            self.blocks += new
            self._index = blocks.Index(self.blocks)
        packed = self._pack(value, 0)
        return [[_pack_block(b) for b in self.blocks[first:]], packed]

    def unpack(self, message: Plain) -> Any:
        """The value of a message, of which nothing is believed. Raises ProtocolError, or the NameError of a handle."""
        try:
            new_blocks, packed = message
            self._items = self._composite = 0
            for nbytes, device, content in new_blocks:
                self.blocks.append(_new_block(nbytes, device, content))
            return self._unpack(packed, 0)
        except (ProtocolError, NameError):
            raise
        except Exception as error:  # a message of another shape
            raise ProtocolError(f"malformed value: {type(error).__name__}: {str(error)[:200]}") from None

    def changed_blocks(self, count: int) -> Plain:
        """[number, bytes] of each of the first `count` blocks whose content is not what the other side knows."""
        changed = []
        for number, block in enumerate(self.blocks[:count]):
            if block.changed():
                block.sent = block.read()
                changed.append([number, block.sent])
        return changed

    def write_blocks(self, changes: Plain, count: int) -> None:
        """Write what changed_blocks found on the other side, if these are changes of the first `count` blocks."""
        try:
            for number, content in changes:
                if type(number) is not int or not 0 <= number < count or not isinstance(content, bytes):
                    raise ProtocolError("no such block")
                self.blocks[number].write(content)
        except (TypeError, ValueError):
            raise ProtocolError("malformed changes of blocks") from None

    def number_of(self, value: Any) -> int | None:
        number = self._numbers.get(id(value))
        return number if number is not None and self.objects[number] is value else None

    def _register(self, value: Any) -> None:
        self._numbers[id(value)] = len(self.objects)
        self.objects.append(value)

    def _collect(self, value: Any, found: list[Block], seen: set[int], depth: int) -> None:
        """Find the memory behind all tensors and arrays of the value that are not known yet."""
        kind = type(value)
        if kind in SIMPLE or kind is int or kind is Told or id(value) in seen:
            return
        if depth > MAX_DEPTH:
            raise ProtocolError(f"nested deeper than {MAX_DEPTH}")
        seen.add(id(value))
        if isinstance(value, Tensor):
            if self.number_of(value) is None:
                found.append(blocks.of_tensor(value))
                for other in (gradient(value), base(value)):
                    if other is not None:
                        self._collect(other, found, seen, depth + 1)
        elif isinstance(value, np.ndarray):
            if self.number_of(value) is None:
                found.append(blocks.of_array(value))
        elif isinstance(value, dict):
            for key, item in value.items():
                self._collect(key, found, seen, depth + 1)
                self._collect(item, found, seen, depth + 1)
        elif isinstance(value, list | tuple | set | frozenset | slice):
            items = (value.start, value.stop, value.step) if isinstance(value, slice) else value
            for item in items:
                self._collect(item, found, seen, depth + 1)

    def _pack(self, value: Any, depth: int) -> Plain:
        kind = type(value)
        if kind is Told:
            kind, value = str, as_sent(value)
        if kind is str and not value.isascii():
            value.encode("utf-8")  # raises where it holds half a character, which no message can
        if kind in SIMPLE:
            return value
        if kind is int:
            return value if -(2**63) <= value < 2**63 else ["int", *values.pack_int(value)]
        if depth > MAX_DEPTH:
            raise ProtocolError(f"nested deeper than {MAX_DEPTH}")
        number = self.number_of(value)
        if number is not None:
            return ["known", number]
        if isinstance(value, Tensor):
            return self._pack_tensor(value, depth)
        if isinstance(value, np.ndarray):
            return self._pack_array(value)
        if kind is list or kind is set:
            self._register(value)
            return [kind.__name__, *[self._pack(item, depth + 1) for item in value]]
        if kind is dict or kind is OrderedDict:
            self._register(value)
            pairs = [[self._pack(k, depth + 1), self._pack(v, depth + 1)] for k, v in value.items()]
            return ["dict" if kind is dict else "ordered", *pairs]
        if isinstance(value, tuple):
            return values.pack_tuple(value, lambda v: self._pack(v, depth + 1))
        if isinstance(value, torch.Generator):
            self._register(value)
            return ["generator", str(value.device), value.get_state().numpy().tobytes()]
        packed = values.pack(value, lambda v: self._pack(v, depth + 1))
        if packed is not None:
            return packed
        name = self.name_of(value) if callable(value) else None
        if name is not None:
            return ["named", name]
        if self.opaque is None:
            raise ProtocolError(f"a {type(value).__name__} is no value of the protocol")
        return ["handle", self.opaque(value)]

    def _pack_tensor(self, t: Tensor, depth: int) -> Plain:
        storage = t.untyped_storage()
        device = "cpu" if t.device.type == "cpu" else str(t.device)
        number = self._index.find(storage.data_ptr(), storage.nbytes(), device)
        shift = storage.data_ptr() - self.blocks[number].address if number >= 0 else 0
        root = None if (b := base(t)) is None else self._pack(b, depth + 1)
        self._register(t)
        grad = None if (g := gradient(t)) is None else self._pack(g, depth + 1)
        return ["tensor", number, root, *geometry(t, shift), grad]

    def _pack_array(self, a: np.ndarray[Any, Any]) -> Plain:
        block = blocks.of_array(a)
        number = self._index.find(block.address, block.nbytes, "cpu")
        offset = a.ctypes.data - self.blocks[number].address if number >= 0 else 0
        self._register(a)
        return ["array", number, *array_geometry(a, offset)]

    def _block(self, number: Any) -> Block:
        if number == -1:
            return Block(0, 0, "cpu")
        if type(number) is not int or not 0 <= number < len(self.blocks):
            raise ProtocolError("no such block")
        return self.blocks[number]

    def _object(self, number: Any) -> Any:
        if type(number) is not int or not 0 <= number < len(self.objects):
            raise ProtocolError("no such object")
        return self.objects[number]

    def _count(self, items: int) -> None:
        """A list that holds another one twice, which does so too, and so on, is small here and endless to compare."""
        self._items += items
        if self._items > MAX_ITEMS:
            raise ProtocolError(f"a value of more than {MAX_ITEMS} items")

    def _size(self, number: int) -> int:
        """Items of a known object, every time that it is met again. A kilobyte of a tensor counts as one."""
        value = self.objects[number]
        if isinstance(value, Tensor | np.ndarray):
            return int(value.itemsize * (value.numel() if isinstance(value, Tensor) else value.size)) >> 10
        return self._sizes.get(number, 1)

    def _unpack_into(self, container: Any, fill: Callable[[], None]) -> Any:
        number, before = len(self.objects), self._items
        self._register(container)
        fill()
        self._sizes[number] = self._items - before
        return container

    def _unpack(self, packed: Plain, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ProtocolError(f"nested deeper than {MAX_DEPTH}")
        self._count(1)
        if not isinstance(packed, list):
            return Told(packed) if self.told and isinstance(packed, str) else packed
        tag, *rest = packed
        match tag:
            case "known":
                (number,) = rest
                known = self._object(number)
                self._count(self._size(number))
                return known
            case "tensor":
                return self._unpack_tensor(depth, *rest)
            case "array":
                return self._unpack_array(*rest)
            case "list":
                items: list[Any] = []
                return self._unpack_into(items, lambda: items.extend([self._unpack(item, depth + 1) for item in rest]))
            case "set":
                members: set[Any] = set()
                return self._unpack_into(members, lambda: members.update([self._key(i, depth) for i in rest]))
            case "dict" | "ordered":
                table: dict[Any, Any] = {} if tag == "dict" else OrderedDict()
                return self._unpack_into(table, lambda: self._fill(table, rest, depth))
            case "generator":
                generator = torch.Generator(str(rest[0]))
                generator.set_state(from_packed(rest[1]))
                self._register(generator)
                return generator
            case "named":
                if self.named is None or not isinstance(rest[0], str):
                    raise ProtocolError("a name where none is taken")
                return self.named(rest[0])
            case "handle":
                if self.handle is None:
                    raise ProtocolError("a handle where none is taken")
                return self.handle(rest[0])
        return values.unpack(tag, rest, lambda v: self._unpack(v, depth + 1))

    def _key(self, packed: Plain, depth: int) -> Any:
        """What a set or a dict is to hold. Of numbers beyond 64 bits and of tuples, any number can be made collide."""
        key = self._unpack(packed, depth + 1)
        if not _is_plain_key(key):
            self._composite += 1
            if self._composite > MAX_COMPOSITE or isinstance(key, int):
                raise ProtocolError(TOO_MANY_KEYS)
        return key

    def _fill(self, table: dict[Any, Any], pairs: list[Any], depth: int) -> None:
        for key, item in pairs:
            unpacked = self._key(key, depth)
            table[unpacked] = self._unpack(item, depth + 1)

    def _unpack_tensor(self, depth: int, block: Any, root: Any, *rest: Any) -> Tensor:
        *shape, grad = rest
        of = None if root is None else self._unpack(root, depth + 1)
        t = rebuild(self._block(block), of if isinstance(of, Tensor) else None, self.enter, *shape)
        self._register(t)
        self._count(self._size(len(self.objects) - 1))
        if grad is not None:
            t.grad = acyclic(t, self._unpack(grad, depth + 1))
        return t

    def _unpack_array(self, number: Any, *shape: Any) -> np.ndarray[Any, Any]:
        a = rebuild_array(self._block(number), *shape)
        self._register(a)
        self._count(self._size(len(self.objects) - 1))
        return a


def refuse_colliding(keys: Iterable[Any]) -> None:
    """Raise ProtocolError where these could be made to collide in a set or a dict."""
    composite = [key for key in keys if not _is_plain_key(key)]
    if len(composite) > MAX_COMPOSITE or any(isinstance(key, int) for key in composite):
        raise ProtocolError(TOO_MANY_KEYS)


def _is_plain_key(key: Any) -> bool:
    return isinstance(key, str | bytes | float | bool) or (isinstance(key, int) and abs(key) < 2**63)


def _pack_block(block: Block) -> Plain:
    block.sent = block.read()
    return [block.nbytes, block.device, block.sent]


def _new_block(nbytes: Any, device: Any, content: Any) -> Block:
    if not isinstance(content, bytes) or type(nbytes) is not int or not 0 < nbytes <= blocks.MAX_BLOCK:
        raise ProtocolError("malformed block")
    if device != "cpu" and not (str(device).startswith("cuda") and torch.cuda.is_available()):
        raise ProtocolError(f"a block on {str(device)[:20]!r}, which is not here")
    return blocks.made(nbytes, device, content)
