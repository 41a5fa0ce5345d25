"""Bytes of tensors: how many are alive, the peak, what is kept for backward, and a timeline.

    with memory.watch() as seen:
        loss = model(x).sum()
        seen.mark("backward")
        loss.backward()
    seen.peak, seen.now, seen.timeline

It counts the storages that each operation makes, since the CPU's allocator keeps no statistics. Memory that a kernel
allocates internally isn't seen. `on_device` returns an accelerator's own statistics.
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
    """A count of live bytes and its history.

    Attributes:
        now: The bytes that are alive.
        peak: The most that were alive at one time.
        timeline: `now` after each change.
        marks: Positions in the timeline, with their names.
    """

    def __init__(self, existing: list[Any]) -> None:
        super().__init__(existing)
        self.timeline: list[int] = [0]
        self.marks: list[tuple[int, str]] = []

    def __enter__(self) -> Watch:
        super().__enter__()
        return self

    def mark(self, name: str) -> None:
        """Name the current position in the timeline."""
        self.marks.append((len(self.timeline) - 1, name))

    def _add(self, t: Tensor) -> None:
        before = self.now
        super()._add(t)
        if self.now != before:
            self.timeline.append(self.now)

    def _note_freed(self, key: int, nbytes: int) -> None:
        super()._note_freed(key, nbytes)
        self.timeline.append(self.now)


def watch(*existing: Any) -> Watch:
    """Count the storages made in a with block.

    Args:
        existing: Models and tensors that exist already.
    """
    tensors = [t for m in existing if isinstance(m, nn.Module) for t in (*m.parameters(), *m.buffers())]
    return Watch([*tree_leaves(existing), *tensors, *(t.grad for t in tensors if t.grad is not None)])


def nbytes(tensors: Any) -> int:
    """Return the bytes of all tensors' storages in nested lists, tuples and dicts, counting each storage once."""
    storages = {
        t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in tree_leaves(tensors) if isinstance(t, Tensor)
    }
    return sum(storages.values())


def on_device() -> dict[str, int]:
    """Return an accelerator's own statistics: {"allocated", "reserved", "peak"} in bytes; empty if there is none."""
    if not torch.accelerator.is_available():
        return {}
    statistics: dict[str, Callable[[], int]] = {
        "allocated": torch.accelerator.memory_allocated,
        "reserved": torch.accelerator.memory_reserved,
        "peak": torch.accelerator.max_memory_allocated,
    }
    return {name: statistic() for name, statistic in statistics.items()}
