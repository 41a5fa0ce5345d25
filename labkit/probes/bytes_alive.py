"""Bytes of live tensors while a student's function runs. Observed: the process reports on itself."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from labkit.probes.probe_definition import probe


class StorageCounter(TorchDispatchMode):
    """Counts the bytes of storages that operations make, until they're freed."""

    def __init__(self, existing: list[Any]) -> None:
        super().__init__()
        self.now = self.peak = 0
        self.known: set[int] = set()
        for t in existing:
            if isinstance(t, Tensor):
                storage = t.untyped_storage()
                self.known.add(storage._cdata)
                # Once it's freed, a new storage may get its address, and that one counts.
                weakref.finalize(storage, self.known.discard, storage._cdata)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for t in tree_leaves(result):
            if isinstance(t, Tensor):
                self._add(t)
        return result

    def _add(self, t: Tensor) -> None:
        storage = t.untyped_storage()
        key, nbytes = storage._cdata, storage.nbytes()
        if key in self.known:
            return
        self.known.add(key)
        self.now += nbytes
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._note_freed, key, nbytes)

    def _note_freed(self, key: int, nbytes: int) -> None:
        self.known.discard(key)
        self.now -= nbytes


@probe
def live_bytes(f: Callable[..., Any], *args: Any, backward: bool = False, **kwargs: Any) -> dict[str, int]:
    """Return {"peak", "kept": after f returned}: bytes besides arguments, parameters and earlier tensors.

    Memory that a kernel allocates internally isn't seen.

    Args:
        backward: Whether to run backward from the sum of the result too.
    """
    modules = [m for m in (f, *tree_leaves((args, kwargs))) if isinstance(m, nn.Module)]
    module_tensors = [t for m in modules for t in (*m.parameters(), *m.buffers())]
    live = StorageCounter([*tree_leaves((args, kwargs)), *module_tensors])
    with live:
        result = f(*args, **kwargs)
        kept_bytes = live.now
        if backward:
            if not isinstance(result, Tensor):
                raise TypeError(f"backward from a {type(result).__name__}")
            result.sum().backward()
    return {"peak": live.peak, "kept": kept_bytes}
