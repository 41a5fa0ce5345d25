"""Everything that can be observed of a value, as plain data: two values look the same exactly when this is equal.

Objects and pieces of memory are numbered in the order in which they appear, so identity and aliasing show as equal
numbers. NaN counts as equal to NaN.
"""

import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.rpc.masked_text import MaskedBytes, MaskedText, unmask_bytes, unmask_text

KINDS = (torch.nn.Module, torch.optim.Optimizer, torch.autograd.Function, type, types.FunctionType)


def observe(value: Any) -> Any:
    return _Observer().observe(value)


def list_differences(remote: Any, local: Any, place: str = "") -> Iterator[str]:
    """List where two observations differ."""
    if type(remote) is type(local) and isinstance(remote, dict) and list(remote) == list(local):
        for key in remote:
            yield from list_differences(remote[key], local[key], f"{place} {key}")
    elif type(remote) is type(local) and isinstance(remote, list | tuple) and len(remote) == len(local):
        for n, pair in enumerate(zip(remote, local, strict=True)):
            yield from list_differences(*pair, f"{place}[{n}]")
    elif remote != local:
        yield f"{place}: remote {remote!r:.300}, local {local!r:.300}"


class _Observer:
    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.memory: list[tuple[int, int]] = []

    def observe(self, value: Any) -> Any:
        if isinstance(value, MaskedText):  # a text like any other, except when displayed
            value = unmask_text(value)
        if isinstance(value, MaskedBytes):
            value = unmask_bytes(value)
        if value is None or isinstance(value, bool | int | str | bytes | slice | range | types.EllipsisType):
            return type(value).__name__, value
        if isinstance(value, float | complex):
            return type(value).__name__, repr(value)
        if isinstance(value, np.generic | torch.dtype | torch.device | np.dtype | torch.memory_format):
            return type(value).__name__, repr(value)
        number = next((n for n, registered in enumerate(self.objects) if registered is value), None)
        if number is not None:
            return f"object {number}"
        self.objects.append(value)
        if isinstance(value, Tensor):
            return self._observe_tensor(value)
        if isinstance(value, np.ndarray):
            return self._observe_array(value)
        if isinstance(value, list | tuple):
            return type(value).__name__, getattr(value, "_fields", None), [self.observe(v) for v in value]
        if isinstance(value, dict):
            return type(value).__name__, [(self.observe(k), self.observe(v)) for k, v in value.items()]
        if isinstance(value, set | frozenset):
            return type(value).__name__, sorted(map(repr, map(self.observe, value)))
        if isinstance(value, BaseException):
            return "raised", type(value).__name__, repr(value.args)
        if isinstance(value, torch.Generator):
            return "generator", value.get_state().numpy().tobytes()
        if isinstance(value, type) and value.__module__.startswith("torch"):
            return value
        return "an object", [isinstance(value, kind) for kind in (*KINDS[:3], type)]

    def _observe_tensor(self, t: Tensor) -> Any:
        observation: dict[str, Any] = {
            "type": type(t).__name__,
            "dtype": t.dtype,
            "shape": tuple(t.shape),
            "stride": t.stride(),
            "offset": t.storage_offset(),
            "memory": self._locate_memory(t.untyped_storage().data_ptr(), t.untyped_storage().nbytes()),
            "bytes": _read_bytes(t),
            "requires_grad": t.requires_grad,
            "is_leaf": t.is_leaf,
            "has grad_fn": t.grad_fn is not None,
            "retains_grad": t.retains_grad,
            "conj, neg": (t.is_conj(), t.is_neg()),
            "inference": t.is_inference(),
            "version": None if t.is_inference() else t._version,
        }
        if not t.requires_grad:
            observation["base"] = None if t._base is None else self.observe(t._base)
        if t.is_leaf or t.retains_grad:
            observation["grad"] = self._observe_gradient(t.grad)
        return observation

    def _observe_gradient(self, grad: Tensor | None) -> Any:
        """A gradient without its version: how often the engine added to it in place depends on how many nodes a call
        is, and a remote one is one."""
        observation = self.observe(grad)
        return (
            {k: v for k, v in observation.items() if k != "version"} if isinstance(observation, dict) else observation
        )

    def _observe_array(self, a: np.ndarray[Any, Any]) -> Any:
        flags = a.flags
        return {
            "dtype": a.dtype.str,
            "shape": a.shape,
            "strides": a.strides,
            "memory": self._locate_memory(*_measure_span(a)),
            "bytes": a.tobytes(),
            "flags": (flags.writeable, flags.owndata, flags.c_contiguous, flags.f_contiguous),
        }

    def _locate_memory(self, address: int, nbytes: int) -> Any:
        """(number of the piece, bytes from its begin, bytes). A piece is what the first to use it spans."""
        if nbytes == 0:
            return "none"
        for number, (start, size) in enumerate(self.memory):
            if start < address + nbytes and address < start + size:
                return number, address - start, nbytes
        self.memory.append((address, nbytes))
        return len(self.memory) - 1, 0, nbytes


def _read_bytes(t: Tensor) -> Any:
    """The bytes of its elements in order, with every NaN the same one."""
    with torch.no_grad():
        plain = t.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
        if plain.dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            plain[plain.isnan()] = float("nan")
        return plain.reshape(-1).view(torch.uint8).numpy().tobytes() if plain.numel() else b""


def _measure_span(a: np.ndarray[Any, Any]) -> tuple[int, int]:
    if a.size == 0:
        return 0, 0
    steps = [(n - 1) * s for n, s in zip(a.shape, a.strides, strict=True)]
    low, high = sum(s for s in steps if s < 0), sum(s for s in steps if s > 0)
    return a.ctypes.data + low, high - low + a.itemsize
