"""Counts of what a student's code did: graphs, compilations, operations, forward passes. Observed: a process can lie.

Graphs and compilations are Dynamo's: no compiler runs after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from labkit.probes.dispatch import ProbeError, probe


@probe
def graph_breaks(f: Callable[..., Any], *args: Any, **kwargs: Any) -> dict[str, int]:
    """How Dynamo takes f apart for these arguments: {"graphs", "breaks", "ops"}."""
    import torch._dynamo

    torch._dynamo.reset()
    try:
        seen = torch._dynamo.explain(f)(*args, **kwargs)
        return {"graphs": seen.graph_count, "breaks": seen.graph_break_count, "ops": seen.op_count}
    finally:
        torch._dynamo.reset()


@probe
def compilations(f: Callable[..., Any], calls: Sequence[tuple[Any, ...]], **options: Any) -> list[int]:
    """How many graphs torch.compile has made of f after each of these calls. options: fullgraph, dynamic.

    A function that torch.compile made already gives 0 throughout: it does not come here again.
    """
    import torch._dynamo

    made = 0

    def count(graph: Any, inputs: Any) -> Any:
        nonlocal made
        made += 1
        return graph.forward

    if unknown := set(options) - {"fullgraph", "dynamic"}:
        raise ProbeError(f"compilations takes no {min(unknown)!r}")
    torch._dynamo.reset()
    try:
        compiled = torch.compile(f, backend=count, **options)
        counts = []
        for args in calls:
            compiled(*args)
            counts.append(made)
        return counts
    finally:
        torch._dynamo.reset()


@probe
def operations(f: Callable[..., Any], *args: Any, backward: bool = False, **kwargs: Any) -> dict[str, int]:
    """How often each aten operation ran in f(*args, **kwargs): {"aten.mm": 2}.

    backward: go on from the sum of the result, so that what is computed again counts again.
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
def forwards(model: nn.Module, *args: Any, backward: bool = True, **kwargs: Any) -> dict[str, int]:
    """How often forward of each submodule ran, by name, in the model's forward pass and in the backward pass from the
    sum of its result: 2 where it was recomputed."""
    counts = {name: 0 for name, _ in model.named_modules()}

    def count(name: str) -> Any:
        def count_call(*_: Any) -> None:
            counts[name] += 1

        return count_call

    hooks = [module.register_forward_pre_hook(count(name)) for name, module in model.named_modules()]
    try:
        result = model(*args, **kwargs)
        if backward:
            _run_backward(result)
    finally:
        for hook in hooks:
            hook.remove()
    return counts


def _run_backward(result: Any) -> None:
    if not isinstance(result, Tensor):
        raise TypeError(f"backward from a {type(result).__name__}")
    result.sum().backward()  # type: ignore[no-untyped-call]
