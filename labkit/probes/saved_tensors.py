"""Tensors that a forward pass saves for the backward pass: shapes and bytes. Observed: the process reports them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._pytree import tree_leaves

from labkit.probes.probe_definition import probe


class _PackedTensor:
    """A tensor as the graph holds it, detached: a saved output would keep its own graph, and thus itself, alive."""

    def __init__(self, t: Tensor) -> None:
        self.tensor = t.detach()
        self.parameter = isinstance(t, nn.Parameter) or isinstance(t._base, nn.Parameter)


@probe
def saved(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
    """List the tensors that the graph of f(*args, **kwargs) holds for backward, in the order they were saved.

    Returns [{"shape": tuple, "dtype": dtype, "nbytes": of its whole storage, "storage": number, "of": "argument",
    "parameter" or "result"}]. Equal storage numbers mean the same memory. Tensors that a checkpoint drops are missing.
    """
    arguments = {_get_address(t) for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)}
    modules = [m for m in (f, *tree_leaves((args, kwargs))) if isinstance(m, nn.Module)]
    parameters = {_get_address(t) for m in modules for t in (*m.parameters(), *m.buffers())}
    packed: list[weakref.ref[_PackedTensor]] = []

    def pack(t: Tensor) -> _PackedTensor:
        holder = _PackedTensor(t)
        packed.append(weakref.ref(holder))
        return holder

    with saved_tensors_hooks(pack, lambda holder: holder.tensor):
        result = f(*args, **kwargs)  # keeps the graph alive
    numbers: dict[int, int] = {}
    listed = []
    for holder in (holder for ref in packed if (holder := ref()) is not None):
        t, address = holder.tensor, _get_address(holder.tensor)
        of = "argument" if address in arguments else "result"
        if holder.parameter or address in parameters:
            of = "parameter"
        number = numbers.setdefault(address, len(numbers))
        nbytes = t.untyped_storage().nbytes()
        listed.append({"shape": tuple(t.shape), "dtype": t.dtype, "nbytes": nbytes, "storage": number, "of": of})
    del result
    return listed


@probe
def saved_bytes(f: Callable[..., Any], *args: Any, **kwargs: Any) -> int:
    """Return the bytes that the graph of f(*args, **kwargs) holds for backward, without arguments and parameters.

    Each storage counts once.
    """
    sizes = {s["storage"]: s["nbytes"] for s in saved(f, *args, **kwargs) if s["of"] == "result"}
    return sum(sizes.values())


def _get_address(t: Tensor) -> int:
    return t.untyped_storage().data_ptr()
