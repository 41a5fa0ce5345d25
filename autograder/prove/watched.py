"""A function that notes how it is called, in place of the reference."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves


class Watched:
    """A function. calls: how often it was called. parameters: those whose values are compared between the calls."""

    def __init__(self, function: Callable[..., Any], parameters: Sequence[str] = ()) -> None:
        self.function, self.calls = function, 0
        self._seen: dict[str, set[str]] = {p: set() for p in parameters}
        self._signature = inspect.signature(function) if parameters else None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        if self._signature is not None:
            bound = self._signature.bind(*args, **kwargs)
            bound.apply_defaults()
            for name, value in bound.arguments.items():
                self._seen[name].add(_fingerprint(value))
        return self.function(*args, **kwargs)

    @property
    def constant(self) -> list[str]:
        """Parameters that had the same value in every call. An object counts by its identity."""
        return [name for name, values in self._seen.items() if len(values) < 2]


def _fingerprint(value: Any) -> str:
    parts = []
    for leaf in tree_leaves(value):
        if isinstance(leaf, Tensor):
            listed = leaf.detach().to(torch.complex128).tolist() if leaf.dtype != torch.bool else leaf.tolist()
            parts.append(f"{tuple(leaf.shape)}{tuple(leaf.stride())}{leaf.dtype}{leaf.requires_grad}{listed}")
        elif isinstance(leaf, np.ndarray):
            parts.append(f"{leaf.shape}{leaf.dtype}{leaf.tolist()}")
        else:
            parts.append(repr(leaf))
    return hashlib.sha256(repr(parts).encode()).hexdigest()
