"""What a forward pass keeps for the backward pass: shapes and bytes. They are the process' word: observed."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._pytree import tree_leaves

from labkit.probes.dispatch import probe


class _PackedTensor:
    """A tensor as the graph holds it. Detached: a saved output would keep its own graph, and so itself, alive."""

    def __init__(self, t: Tensor) -> None:
        self.tensor = t.detach()
        self.parameter = isinstance(t, nn.Parameter) or isinstance(t._base, nn.Parameter)


@probe
def saved(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
    """Each tensor that the graph of f(*args, **kwargs) holds for backward, in the order in which it was saved.

    Returns [{"shape": tuple, "dtype": dtype, "nbytes": of its whole storage, "storage": number, "of": "argument",
    "parameter" or "result"}]. Equal storage numbers are the same memory. What a checkpoint leaves out is not there.
    """
    arguments = {_get_address(t) for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)}
    modules = [m for m in (f, *tree_leaves((args, kwargs))) if isinstance(m, nn.Module)]
    parameters = {_get_address(t) for m in modules for t in (*m.parameters(), *m.buffers())}
    packed: list[weakref.ref[_PackedTensor]] = []

    def pack(t: Tensor) -> _PackedTensor:
        kept = _PackedTensor(t)
        packed.append(weakref.ref(kept))
        return kept

    with saved_tensors_hooks(pack, lambda kept: kept.tensor):
        result = f(*args, **kwargs)  # held: with it goes the graph
    numbers: dict[int, int] = {}
    found = []
    for kept in _iter_alive(packed):
        t, address = kept.tensor, _get_address(kept.tensor)
        of = "argument" if address in arguments else "result"
        if kept.parameter or address in parameters:
            of = "parameter"
        number = numbers.setdefault(address, len(numbers))
        nbytes = t.untyped_storage().nbytes()
        found.append({"shape": tuple(t.shape), "dtype": t.dtype, "nbytes": nbytes, "storage": number, "of": of})
    del result
    return found


@probe
def saved_bytes(f: Callable[..., Any], *args: Any, **kwargs: Any) -> int:
    """Bytes that the graph of f(*args, **kwargs) holds for backward, each storage once, without arguments and
    parameters."""
    of_storage = {s["storage"]: s["nbytes"] for s in saved(f, *args, **kwargs) if s["of"] == "result"}
    return sum(of_storage.values())


def _iter_alive(packed: list[weakref.ref[_PackedTensor]]) -> Iterator[_PackedTensor]:
    return (kept for ref in packed if (kept := ref()) is not None)


def _get_address(t: Tensor) -> int:
    return t.untyped_storage().data_ptr()
