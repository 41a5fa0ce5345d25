"""Counts of the operations that ran in a student's code. Observed: a process can lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


def _run_backward(result: Any) -> None:
    if not isinstance(result, Tensor):
        raise TypeError(f"backward from a {type(result).__name__}")
    result.sum().backward()
