"""Bytes of tensors: what is alive, the peak, what is kept for backward, and a timeline.

    with memory.watch() as seen:
        loss = model(x).sum()
        seen.mark("backward")
        loss.backward()
    seen.peak, seen.now, seen.timeline

The storages that operations make are counted, by asking each operation: a CPU has no allocator that keeps statistics.
What a kernel allocates for itself is not seen. `on_device` gives an accelerator's own statistics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from labkit.probes.bytes_alive import StorageCounter
from labkit.probes.saved_tensors import saved_bytes

__all__ = ["Watch", "nbytes", "on_device", "saved_bytes", "watch"]


class Watch(StorageCounter):
    """now: bytes that are alive. peak: the most that were. timeline: `now` after each change. marks: places in it."""

    def __init__(self, known: list[Any]) -> None:
        super().__init__(known)
        self.timeline: list[int] = [0]
        self.marks: list[tuple[int, str]] = []

    def __enter__(self) -> Watch:
        super().__enter__()
        return self

    def mark(self, name: str) -> None:
        """Name this place of the timeline."""
        self.marks.append((len(self.timeline) - 1, name))

    def _add(self, t: Tensor) -> None:
        before = self.now
        super()._add(t)
        if self.now != before:
            self.timeline.append(self.now)

    def _free(self, key: int, nbytes: int) -> None:
        super()._free(key, nbytes)
        self.timeline.append(self.now)


def watch(*known: Any) -> Watch:
    """Count, in a with block, the storages made there. known: models and tensors that were there before."""
    tensors = [t for m in known if isinstance(m, nn.Module) for t in (*m.parameters(), *m.buffers())]
    return Watch([*tree_leaves(known), *tensors, *(t.grad for t in tensors if t.grad is not None)])


def nbytes(tensors: Any) -> int:
    """Bytes of the memory behind all tensors in nested lists, tuples and dicts, each storage once."""
    storages = {
        t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in tree_leaves(tensors) if isinstance(t, Tensor)
    }
    return sum(storages.values())


def on_device() -> dict[str, int]:
    """An accelerator's own statistics: {"allocated", "reserved", "peak"} in bytes. Empty where there is none."""
    if not torch.accelerator.is_available():
        return {}
    read: dict[str, Callable[[], int]] = {
        "allocated": torch.accelerator.memory_allocated,
        "reserved": torch.accelerator.memory_reserved,
        "peak": torch.accelerator.max_memory_allocated,
    }
    return {name: statistic() for name, statistic in read.items()}
