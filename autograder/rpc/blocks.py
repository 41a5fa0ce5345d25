"""Blocks: the pieces of memory behind tensors and arrays. What shares memory here shares it on the other side too."""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.rpc.frames import ProtocolError

MAX_BLOCK = 192 * 2**20  # bytes
_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]


@dataclass
class Block:
    """A range of memory. `storage` is a torch storage that begins at `address`, where there is one."""

    address: int
    nbytes: int
    device: str
    storage: Any = None
    keep: Any = None  # whatever owns the memory
    sent: bytes = b""  # the content that the other side knows
    writeable: bool = True

    def holds(self, address: int, nbytes: int, device: str) -> bool:
        inside = self.address <= address and address + nbytes <= self.address + self.nbytes
        return device == self.device and inside and nbytes > 0 and not self.moved()

    def moved(self) -> bool:
        """Whether its storage was given other memory, as resize_ does: what was here may be gone."""
        return self.storage is not None and self.nbytes > 0 and self.storage.data_ptr() != self.address

    def changed(self) -> bool:
        """Whether its content is another than the other side knows."""
        if self.moved():
            return False
        if self.device == "cpu":
            return len(self.sent) != self.nbytes or _memcmp(self.address, self.sent, self.nbytes) != 0
        return self.read() != self.sent

    def read(self) -> bytes:
        if self.nbytes == 0:
            return b""
        if self.device == "cpu":
            return ctypes.string_at(self.address, self.nbytes)
        return bytes(self._bytes().cpu().numpy().tobytes())

    def write(self, data: bytes) -> None:
        if len(data) != self.nbytes or self.moved():
            raise ProtocolError(f"{len(data)} bytes for a block of {self.nbytes}")
        if not self.writeable:
            raise ProtocolError("a change of memory that is read-only")
        if self.nbytes == 0:
            return
        if self.device == "cpu":
            ctypes.memmove(self.address, data, self.nbytes)
        else:
            self._bytes().copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))

    def as_storage(self) -> Any:
        """A torch storage over this memory: the one that is there already, so that aliases keep one identity."""
        if isinstance(self.keep, Fresh):
            self.keep = self.keep.memory
        if self.storage is None:
            if self.nbytes == 0:
                self.storage = torch.empty(0, dtype=torch.uint8, device="cpu").untyped_storage()
            else:
                self.storage = torch.from_numpy(self.as_array()).untyped_storage()
        return self.storage

    def as_array(self) -> np.ndarray[Any, Any]:
        if self.device != "cpu":
            raise ProtocolError(f"an array on {self.device}")
        if self.nbytes == 0:
            return np.empty(0, np.uint8)
        if isinstance(self.keep, Fresh):
            self.keep = self.keep.memory
        buffer: Any = (ctypes.c_uint8 * self.nbytes).from_address(self.address)
        buffer._owner = self.keep
        memory: np.ndarray[Any, Any] = np.frombuffer(buffer, np.uint8)
        return memory

    def move_into(self, a: np.ndarray[Any, Any]) -> bool:
        """Let this array be the memory from now on, if that is possible: if nothing lives in the block yet."""
        if self.device != "cpu" or a.nbytes != self.nbytes or self.nbytes == 0 or not isinstance(self.keep, Fresh):
            return False
        ctypes.memmove(a.ctypes.data, self.sent, self.nbytes)
        self.address, self.keep, self.storage = a.ctypes.data, a, None
        return True

    def _bytes(self) -> Tensor:
        return torch.empty(0, dtype=torch.uint8, device=self.device).set_(self.storage, 0, (self.nbytes,), (1,))


@dataclass
class Fresh:
    """Keeps the memory of a block that no tensor or array uses yet."""

    memory: Tensor


class Index:
    """Finds the block that holds a range of memory, among blocks that stay as they are while it is in use."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        order = sorted((b.device, b.address, n) for n, b in enumerate(blocks) if b.nbytes and not b.moved())
        self._starts = [(device, address) for device, address, _ in order]
        self._numbers = [n for _, _, n in order]
        self._apart = all(
            device != after or address + blocks[n].nbytes <= beyond
            for (device, address, n), (after, beyond, _) in pairwise(order)
        )

    def find(self, address: int, nbytes: int, device: str) -> int:
        """The number of the first block that holds these bytes, or -1."""
        at = bisect_right(self._starts, (device, address))
        # Of blocks that do not overlap, only the last one that begins before can hold it.
        likely = self._numbers[max(at - 1, 0) : at] if self._apart else range(len(self._blocks))
        return next((n for n in likely if self._blocks[n].holds(address, nbytes, device)), -1)


def of_tensor(t: Tensor) -> Block:
    """The whole storage behind a tensor. Raises ProtocolError where there is none that can be read."""
    if t.layout != torch.strided or t.is_quantized or t.device.type not in ("cpu", "cuda"):
        raise ProtocolError(f"a tensor with layout {t.layout} on {t.device} cannot be passed")
    bounded_size(t.shape, t.element_size(), t.stride())
    try:
        storage = t.untyped_storage()
        return _bounded(Block(storage.data_ptr(), storage.nbytes(), _name(t.device), storage, t))
    except RuntimeError:
        raise ProtocolError("a tensor without memory of its own, as inside torch.func, cannot be passed") from None


def of_array(a: np.ndarray[Any, Any]) -> Block:
    """The memory from an array's lowest to its highest byte."""
    if a.dtype.hasobject or a.dtype.names or a.dtype.subdtype or a.dtype.kind not in "biufc?":
        raise ProtocolError(f"an array of dtype {a.dtype} cannot be passed")
    bounded_size(a.shape, a.itemsize)
    if a.size == 0:
        return Block(a.ctypes.data, 0, "cpu", keep=a)
    steps = [(n - 1) * s for n, s in zip(a.shape, a.strides, strict=True)]
    low = a.ctypes.data + sum(s for s in steps if s < 0)
    high = a.ctypes.data + sum(s for s in steps if s > 0) + a.itemsize
    return _bounded(Block(low, high - low, "cpu", keep=a, writeable=_can_be_written(a)))


def made(nbytes: int, device: str, content: bytes) -> Block:
    """A new block with this content. Its storage can be resized, as that of any new tensor."""
    if len(content) != nbytes:
        raise ProtocolError(f"{len(content)} bytes for a block of {nbytes}")
    memory = torch.empty(nbytes, dtype=torch.uint8, device="cpu")  # whatever the default device is
    if nbytes:
        ctypes.memmove(memory.data_ptr(), content, nbytes)
    if device != "cpu":
        memory = memory.to(device)
    storage = memory.untyped_storage()
    return Block(storage.data_ptr(), nbytes, device, storage, Fresh(memory), content)


def merged(blocks: list[Block]) -> list[Block]:
    """The blocks with those that overlap made one. A storage survives where it spans the whole of its merged block."""
    result: list[Block] = []
    for block in sorted(blocks, key=lambda b: (b.device, b.address, -b.nbytes)):
        last = result[-1] if result else None
        if last and last.device == block.device and block.nbytes and block.address < last.address + last.nbytes:
            end = max(last.address + last.nbytes, block.address + block.nbytes)
            if end > last.address + last.nbytes:
                last.nbytes, last.storage = end - last.address, None
            elif last.storage is None and (block.address, block.nbytes) == (last.address, last.nbytes):
                last.storage = block.storage
            last.keep = (last.keep, block.keep)
            last.writeable = last.writeable or block.writeable
        else:
            result.append(block)
    return result


def bounded_size(shape: Sequence[int], itemsize: int, stride: Sequence[int] = ()) -> None:
    """Refuse what is small in memory and becomes huge with the first operation, as an expanded number does.

    stride: of a tensor. Where one is 0, it is counted as what a comparison makes of it: eight bytes an element.
    """
    count = 1
    for n in shape:
        count *= n
    if any(step == 0 and n > 1 for n, step in zip(shape, stride, strict=False)):
        itemsize = max(itemsize, 8)
    if count * itemsize > MAX_BLOCK:
        raise ProtocolError(f"{count} elements: at most {MAX_BLOCK} bytes are allowed")


def _can_be_written(a: np.ndarray[Any, Any]) -> bool:
    """Whether a write can be right: a read-only view of NumPy's own memory can be made writeable again."""
    owner: Any = a
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable or owner.flags.owndata:
            return True
        owner = owner.base
    return False


def _bounded(block: Block) -> Block:
    if block.nbytes > MAX_BLOCK:
        raise ProtocolError(f"{block.nbytes} bytes in one storage: at most {MAX_BLOCK} are allowed")
    return block


def _name(device: torch.device) -> str:
    return "cpu" if device.type == "cpu" else str(device)
