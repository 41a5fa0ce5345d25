"""Counts of the operations that ran in a student's code. Observed: a process can lie."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from labkit.probes.probe_definition import probe


@probe
def operations(f: Callable[..., Any], *args: Any, backward: bool = False, **kwargs: Any) -> dict[str, int]:
    """Count how often each aten operation runs in f(*args, **kwargs): {"aten.mm": 2}.

    Args:
        backward: Whether to run backward from the sum of the result too, where recomputed operations count again.
    """
    counts: dict[str, int] = {}

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = str(func.overloadpacket)
            counts[name] = counts.get(name, 0) + 1
            return func(*args, **(kwargs or {}))

    with Count():
        result = f(*args, **kwargs)
        if backward:
            _run_backward(result)
    return counts


@probe
def derivatives(f: Callable[..., Any], *args: Any) -> dict[str, int]:
    """Count how f(*args) asks PyTorch for derivatives: {"backward": 1, "forward": 0, "functional": 0}.

    Returns:
        "backward": backward passes; "forward": tensors that get a tangent of forward mode; "functional": steps of
        torch.autograd.functional and torch.func, which use the first two as well.
    """
    autograd, transforms = torch.autograd, torch._functorch.eager_transforms
    counted = {
        "backward": (autograd, "_engine_run_backward"),
        "forward": (autograd.forward_ad, "make_dual"),
        "functional": (autograd.functional, "_as_tuple"),
        "func": (transforms, "_undo_create_differentiable"),
    }
    with contextlib.ExitStack() as stack:
        calls = {
            name: stack.enter_context(mock.patch.object(owner, function, wraps=getattr(owner, function)))
            for name, (owner, function) in counted.items()
        }
        f(*args)
    counts = {name: call.call_count for name, call in calls.items()}
    return counts | {"functional": counts["functional"] + counts.pop("func")}


def _run_backward(result: Any) -> None:
    if not isinstance(result, Tensor):
        raise TypeError(f"backward from a {type(result).__name__}")
    result.sum().backward()
