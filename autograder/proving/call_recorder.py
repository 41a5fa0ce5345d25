"""Replaces the reference by a function that records its calls."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from autograder.proving.shared_log import SharedLog
from autograder.student_process.callback_proxies import Callback

ADDRESS = re.compile(r" at 0x[0-9a-f]+")
MAX_DEPTH = 3  # of objects that hold objects


class CallRecorder:
    """A function that records its calls.

    `calls` counts only those in this process: forks, whose values count too, can't share one list of results.

    Args:
        parameters: Those whose values are compared between calls.
    """

    def __init__(self, function: Callable[..., Any], parameters: Sequence[str] = ()) -> None:
        self.function, self.parameters, self._notes = function, tuple(parameters), SharedLog()
        self.calls = 0
        self._signature = inspect.signature(function) if parameters else None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        if self._signature is not None:
            bound = self._signature.bind(*args, **kwargs)
            bound.apply_defaults()
            self._notes.write(" ".join(digest_value(bound.arguments[name]) for name in self.parameters))
        return self.function(*args, **kwargs)

    @property
    def constant(self) -> list[str]:
        """The parameters that had the same value in every call. Objects compare by content."""
        calls = [line.split() for line in self._notes.read_lines()]
        return [name for n, name in enumerate(self.parameters) if len({values[n] for values in calls}) < 2]


def digest_value(value: Any) -> str:
    return hashlib.sha256(repr([_describe_leaf(leaf) for leaf in tree_leaves(value)]).encode()).hexdigest()


def _describe_leaf(leaf: Any, depth: int = 0) -> str:
    """Describe a leaf by its content, not its address, which objects of calls in other forks may share."""
    if isinstance(leaf, Tensor):
        try:
            values = leaf.detach().to(torch.complex128).tolist() if leaf.dtype != torch.bool else leaf.tolist()
        except RuntimeError:  # inside vmap, or a tensor of the meta device
            values = []
        return f"{tuple(leaf.shape)}{tuple(leaf.stride())}{leaf.dtype}{leaf.requires_grad}{values}"
    if isinstance(leaf, np.ndarray):
        return f"{leaf.shape}{leaf.dtype}{leaf.tolist()}"
    if type(leaf) is Callback:  # every use of it would call the examiner
        return f"callback {leaf._number}"
    parts = [ADDRESS.sub("", repr(leaf))]
    if depth < MAX_DEPTH:
        if isinstance(leaf, MethodType):
            contents: list[Any] = [leaf.__func__, leaf.__self__]
        elif isinstance(leaf, torch.Generator):
            contents = [leaf.get_state()]
        elif isinstance(leaf, FunctionType):
            cells = [cell.cell_contents for cell in leaf.__closure__ or ()]
            contents = [leaf.__code__.co_code, leaf.__code__.co_consts, leaf.__defaults__, *cells]
        else:
            contents = list(getattr(leaf, "__dict__", {}).items()) if not isinstance(leaf, type) else []
        parts += [_describe_leaf(inner, depth + 1) for inner in tree_leaves(contents)]
    return "".join(parts)
