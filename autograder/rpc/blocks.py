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
NOWHERE = -(2**62)  # the address of a block whose memory is not made yet: nothing lies there
FEW = 4  # blocks that are faster looked at one by one
CPU = torch.device("cpu")
_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]


@dataclass(slots=True)
class Block:
    """A range of memory. `storage` is a torch storage that begins at `address`, where there is one.

    One that arrived is its content alone, until something is to live in it.
    """

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
        if self.address == NOWHERE or self.moved():
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
        self.make()
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

    def make(self) -> None:
        """Have memory. Its storage can be resized, as that of any new tensor."""
        if self.address == NOWHERE:
            memory = torch.empty(self.nbytes, dtype=torch.uint8, device=CPU)  # whatever the default device is
            ctypes.memmove(memory.data_ptr(), self.sent, self.nbytes)
            if self.device != "cpu":
                memory = memory.to(self.device)
            self.storage = memory.untyped_storage()
            self.address, self.keep = self.storage.data_ptr(), memory

    def as_tensor(self, dtype: torch.dtype, size: list[int], stride: list[int]) -> Tensor | None:
        """A tensor that is all of this memory, made for it; None where something lives there, or it is not all."""
        if self.address != NOWHERE or self.device != "cpu":
            return None
        t = torch.empty_strided(size, stride, dtype=dtype, device=CPU)
        storage = t.untyped_storage()
        if storage.nbytes() != self.nbytes:
            return None
        self.address, self.storage, self.keep = storage.data_ptr(), storage, t
        ctypes.memmove(self.address, self.sent, self.nbytes)
        return t

    def get_storage(self) -> Any:
        """A torch storage over this memory: the one that is there already, so that aliases keep one identity."""
        self.make()
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
        self.make()
        buffer: Any = (ctypes.c_uint8 * self.nbytes).from_address(self.address)
        buffer._owner = self.keep
        memory: np.ndarray[Any, Any] = np.frombuffer(buffer, np.uint8)
        return memory

    def move_into(self, a: np.ndarray[Any, Any]) -> bool:
        """Let this array be the memory from now on, if that is possible: if nothing lives in the block yet."""
        if self.address != NOWHERE or self.device != "cpu" or a.nbytes != self.nbytes:
            return False
        self.address, self.keep = a.ctypes.data, a
        ctypes.memmove(self.address, self.sent, self.nbytes)
        return True

    def _bytes(self) -> Tensor:
        return torch.empty(0, dtype=torch.uint8, device=self.device).set_(self.storage, 0, (self.nbytes,), (1,))


class Index:
    """Finds the block that holds a range of memory, among blocks that stay as they are while it is in use."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        self._few = len(blocks) <= FEW
        if self._few:
            return
        order = sorted((b.device, b.address, n) for n, b in enumerate(blocks) if b.nbytes and not b.moved())
        self._starts = [(device, address) for device, address, _ in order]
        self._numbers = [n for _, _, n in order]
        self._apart = all(
            device != after or address + blocks[n].nbytes <= beyond
            for (device, address, n), (after, beyond, _) in pairwise(order)
        )

    def find(self, address: int, nbytes: int, device: str) -> int:
        """The number of the first block that holds these bytes, or -1."""
        likely: Sequence[int] = range(len(self._blocks))
        if not self._few and self._apart:
            at = bisect_right(self._starts, (device, address))
            likely = self._numbers[max(at - 1, 0) : at]  # of blocks apart, only the last that begins before can hold it
        for n in likely:
            if self._blocks[n].holds(address, nbytes, device):
                return n
        return -1


def build_tensor_block(t: Tensor) -> Block:
    """The whole storage behind a tensor. Raises ProtocolError where there is none that can be read."""
    if t.layout != torch.strided or t.is_quantized or not (t.is_cpu or t.is_cuda):
        raise ProtocolError(f"a tensor with layout {t.layout} on {t.device} cannot be passed")
    if t.numel() * max(t.element_size(), 8) > MAX_BLOCK:
        check_size(t.shape, t.element_size(), t.stride())
    try:
        storage = t.untyped_storage()
        return _check_block_size(
            Block(storage.data_ptr(), storage.nbytes(), "cpu" if t.is_cpu else str(t.device), storage, t)
        )
    except RuntimeError:
        raise ProtocolError("a tensor without memory of its own, as inside torch.func, cannot be passed") from None


def build_array_block(a: np.ndarray[Any, Any]) -> Block:
    """The memory from an array's lowest to its highest byte."""
    if a.dtype.hasobject or a.dtype.names or a.dtype.subdtype or a.dtype.kind not in "biufc?":
        raise ProtocolError(f"an array of dtype {a.dtype} cannot be passed")
    check_size(a.shape, a.itemsize)
    if a.size == 0:
        return Block(a.ctypes.data, 0, "cpu", keep=a)
    steps = [(n - 1) * s for n, s in zip(a.shape, a.strides, strict=True)]
    low = a.ctypes.data + sum(s for s in steps if s < 0)
    high = a.ctypes.data + sum(s for s in steps if s > 0) + a.itemsize
    return _check_block_size(Block(low, high - low, "cpu", keep=a, writeable=_can_be_written(a)))


def build_received_block(nbytes: Any, device: Any, content: Any) -> Block:
    """A block that the other side sent. Raises ProtocolError where it is none."""
    if type(content) is not bytes or type(nbytes) is not int or not 0 < nbytes <= MAX_BLOCK or len(content) != nbytes:
        raise ProtocolError("malformed block")
    if device != "cpu" and not (str(device).startswith("cuda") and torch.cuda.is_available()):
        raise ProtocolError(f"a block on {str(device)[:20]!r}, which is not here")
    return Block(NOWHERE, nbytes, device, sent=content)


def merge_blocks(blocks: list[Block]) -> list[Block]:
    """The blocks with those that overlap made one. A storage survives where it spans the whole of its merged block."""
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
            last.keep = (last.keep, block.keep)
            last.writeable = last.writeable or block.writeable
        else:
            result.append(block)
    return result


def check_size(shape: Sequence[int], itemsize: int, stride: Sequence[int] = ()) -> None:
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


def _check_block_size(block: Block) -> Block:
    if block.nbytes > MAX_BLOCK:
        raise ProtocolError(f"{block.nbytes} bytes in one storage: at most {MAX_BLOCK} are allowed")
    return block
