"""Blocks of memory behind tensors and arrays. Tensors that share memory on one side share it on the other too."""

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

from autograder.rpc.frames import ProtocolError, WireValue

MAX_BLOCK = 192 * 2**20  # bytes
NOWHERE = -(2**62)  # the address of a block without memory so far
FEW = 4  # blocks that are faster searched one by one
CPU = torch.device("cpu")
_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]


@dataclass(slots=True)
class Block:
    """A range of memory. A received block is only its content until a tensor or array uses it."""

    address: int
    nbytes: int
    device: str
    storage: Any = None
    """A torch storage that begins at `address`, if there is one."""
    owner: Any = None
    """The owner of the memory."""
    sent: bytes = b""
    """The content that the other side has."""
    writeable: bool = True

    def has_bytes(self, address: int, nbytes: int, device: str) -> bool:
        """Return whether the block holds all of these bytes, and its memory is still there."""
        inside = self.address <= address and address + nbytes <= self.address + self.nbytes
        return device == self.device and inside and nbytes > 0 and not self.has_moved()

    def has_moved(self) -> bool:
        """Return whether its storage has moved to other memory, as by resize_: the old memory may be freed."""
        return self.storage is not None and self.nbytes > 0 and self.storage.data_ptr() != self.address

    def has_changed(self) -> bool:
        """Return whether its content differs from the other side's."""
        if self.address == NOWHERE or self.has_moved():
            return False
        if self.device == "cpu":
            return len(self.sent) != self.nbytes or _memcmp(self.address, self.sent, self.nbytes) != 0
        return self.read() != self.sent

    def read(self) -> bytes:
        if self.nbytes == 0:
            return b""
        if self.device == "cpu":
            return ctypes.string_at(self.address, self.nbytes)
        return bytes(self._view_bytes().cpu().numpy().tobytes())

    def write(self, data: bytes) -> None:
        self.allocate()
        if len(data) != self.nbytes or self.has_moved():
            raise ProtocolError(f"{len(data)} bytes for a block of {self.nbytes}")
        if not self.writeable:
            raise ProtocolError("a change of read-only memory")
        if self.nbytes == 0:
            return
        if self.device == "cpu":
            ctypes.memmove(self.address, data, self.nbytes)
        else:
            self._view_bytes().copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))

    def allocate(self) -> None:
        """Allocate memory if there's none. Its storage can be resized, as that of any new tensor."""
        if self.address == NOWHERE:
            memory = torch.empty(self.nbytes, dtype=torch.uint8, device=CPU)  # not on the default device
            ctypes.memmove(memory.data_ptr(), self.sent, self.nbytes)
            if self.device != "cpu":
                memory = memory.to(self.device)
            self.storage = memory.untyped_storage()
            self.address, self.owner = self.storage.data_ptr(), memory

    def as_tensor(self, dtype: torch.dtype, size: list[int], stride: list[int]) -> Tensor | None:
        """Create a tensor that owns all of this memory. None if the block is in use, or the sizes differ."""
        if self.address != NOWHERE or self.device != "cpu":
            return None
        t = torch.empty_strided(size, stride, dtype=dtype, device=CPU)
        storage = t.untyped_storage()
        if storage.nbytes() != self.nbytes:
            return None
        self.address, self.storage, self.owner = storage.data_ptr(), storage, t
        ctypes.memmove(self.address, self.sent, self.nbytes)
        return t

    def get_storage(self) -> Any:
        """Return the torch storage over this memory, always the same one, so aliases share it."""
        self.allocate()
        if self.storage is None:
            if self.nbytes == 0:
                self.storage = torch.empty(0, dtype=torch.uint8, device="cpu").untyped_storage()
            else:
                self.storage = torch.from_numpy(self.get_array()).untyped_storage()
        return self.storage

    def get_array(self) -> np.ndarray[Any, Any]:
        if self.device != "cpu":
            raise ProtocolError(f"an array on {self.device}")
        if self.nbytes == 0:
            return np.empty(0, np.uint8)
        self.allocate()
        buffer: Any = (ctypes.c_uint8 * self.nbytes).from_address(self.address)
        buffer._owner = self.owner
        memory: np.ndarray[Any, Any] = np.frombuffer(buffer, np.uint8)
        return memory

    def move_into(self, a: np.ndarray[Any, Any]) -> bool:
        """Use this array as the memory, and return whether that's possible: only if the block has none yet."""
        if self.address != NOWHERE or self.device != "cpu" or a.nbytes != self.nbytes:
            return False
        self.address, self.owner = a.ctypes.data, a
        ctypes.memmove(self.address, self.sent, self.nbytes)
        return True

    def _view_bytes(self) -> Tensor:
        return torch.empty(0, dtype=torch.uint8, device=self.device).set_(self.storage, 0, (self.nbytes,), (1,))


class Index:
    """Finds the block that holds a range of memory, among blocks that don't change while it's in use."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        self._few = len(blocks) <= FEW
        if self._few:
            return
        order = sorted((b.device, b.address, n) for n, b in enumerate(blocks) if b.nbytes and not b.has_moved())
        self._starts = [(device, address) for device, address, _ in order]
        self._numbers = [n for _, _, n in order]
        self._are_disjoint = all(
            device != next_device or address + blocks[n].nbytes <= next_address
            for (device, address, n), (next_device, next_address, _) in pairwise(order)
        )

    def find(self, address: int, nbytes: int, device: str) -> int:
        """Return the number of the first block that holds these bytes, or -1."""
        candidates: Sequence[int] = range(len(self._blocks))
        if not self._few and self._are_disjoint:
            end = bisect_right(self._starts, (device, address))
            candidates = self._numbers[max(end - 1, 0) : end]  # only the last that begins at or before the address
        for n in candidates:
            if self._blocks[n].has_bytes(address, nbytes, device):
                return n
        return -1


def build_tensor_block(t: Tensor) -> Block:
    """Build a block of the whole storage behind a tensor. Raises ProtocolError if there's none that can be read."""
    if t.layout != torch.strided or t.is_quantized or not (t.is_cpu or t.is_cuda):
        raise ProtocolError(f"a tensor with layout {t.layout} on {t.device} can't be passed")
    if t.numel() * max(t.element_size(), 8) > MAX_BLOCK:
        check_size(t.shape, t.element_size(), t.stride())
    try:
        storage = t.untyped_storage()
        return _check_block_size(
            Block(storage.data_ptr(), storage.nbytes(), "cpu" if t.is_cpu else str(t.device), storage, t)
        )
    except RuntimeError:
        raise ProtocolError("a tensor without memory of its own, as inside torch.func, can't be passed") from None


def build_array_block(a: np.ndarray[Any, Any]) -> Block:
    """Build a block of the memory from an array's lowest to its highest byte."""
    if a.dtype.hasobject or a.dtype.names or a.dtype.subdtype or a.dtype.kind not in "biufc?":
        raise ProtocolError(f"an array of dtype {a.dtype} can't be passed")
    check_size(a.shape, a.itemsize)
    if a.size == 0:
        return Block(a.ctypes.data, 0, "cpu", owner=a)
    steps = [(n - 1) * s for n, s in zip(a.shape, a.strides, strict=True)]
    low = a.ctypes.data + sum(s for s in steps if s < 0)
    high = a.ctypes.data + sum(s for s in steps if s > 0) + a.itemsize
    return _check_block_size(Block(low, high - low, "cpu", owner=a, writeable=_can_be_written(a)))


def build_received_block(nbytes: WireValue, device: WireValue, content: WireValue) -> Block:
    """Build a block from what the other side sent. Raises ProtocolError if it's malformed."""
    if type(content) is not bytes or type(nbytes) is not int or not 0 < nbytes <= MAX_BLOCK or len(content) != nbytes:
        raise ProtocolError("malformed block")
    if not isinstance(device, str) or (
        device != "cpu" and not (device.startswith("cuda") and torch.cuda.is_available())
    ):
        raise ProtocolError(f"a block on {str(device)[:20]!r}, which this machine doesn't have")
    return Block(NOWHERE, nbytes, device, sent=content)


def merge_blocks(blocks: list[Block]) -> list[Block]:
    """Merge overlapping blocks. A storage is kept if it spans the whole merged block."""
    if len(blocks) < 2:
        return blocks
    result: list[Block] = []
    for block in sorted(blocks, key=lambda b: (b.device, b.address, -b.nbytes)):
        last = result[-1] if result else None
        if last and last.device == block.device and block.nbytes and block.address < last.address + last.nbytes:
            end = max(last.address + last.nbytes, block.address + block.nbytes)
            if end > last.address + last.nbytes:
                last.nbytes, last.storage = end - last.address, None
            elif last.storage is None and (block.address, block.nbytes) == (last.address, last.nbytes):
                last.storage = block.storage
            last.owner = (last.owner, block.owner)
            last.writeable = last.writeable or block.writeable
        else:
            result.append(block)
    return result


def check_size(shape: Sequence[int], itemsize: int, stride: Sequence[int] = ()) -> None:
    """Refuse a tensor that is small in memory but becomes huge with the first operation, as an expanded number does.

    Args:
        stride: If one is 0, elements count as eight bytes, the size that a comparison gives them.
    """
    count = 1
    for n in shape:
        count *= n
    if any(step == 0 and n > 1 for n, step in zip(shape, stride, strict=False)):
        itemsize = max(itemsize, 8)
    if count * itemsize > MAX_BLOCK:
        raise ProtocolError(f"{count} elements: at most {MAX_BLOCK} bytes are allowed")


def _can_be_written(a: np.ndarray[Any, Any]) -> bool:
    """Return whether writing is safe: a read-only view of NumPy's own memory can be made writeable again."""
    owner: Any = a
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable or owner.flags.owndata:
            return True
        owner = owner.base
    return False


def _check_block_size(block: Block) -> Block:
    if block.nbytes > MAX_BLOCK:
        raise ProtocolError(f"{block.nbytes} bytes in one storage: at most {MAX_BLOCK} are allowed")
    return block
