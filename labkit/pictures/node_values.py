"""The values that the nodes of a graph had in the forward pass, as far as the graph still holds or implies them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

RULES: Mapping[str, Callable[..., Tensor]] = {
    "AddBackward0": torch.add,
    "CosBackward0": torch.cos,
    "DivBackward0": torch.div,
    "LogBackward0": torch.log,
    "MeanBackward0": torch.mean,
    "MulBackward0": torch.mul,
    "NegBackward0": torch.neg,
    "SinBackward0": torch.sin,
    "SubBackward0": torch.sub,
    "SumBackward0": torch.sum,
}
OPERANDS = ("_saved_self", "_saved_other")


def compute_values(nodes: Iterable[Any], tensors: Iterable[Tensor]) -> dict[int, Tensor]:
    """Return the values of nodes by identity. A node whose value can't be known is left out.

    Args:
        nodes: All nodes of a graph, each before those that it leads to.
        tensors: Tensors whose value is known, some of them results of these nodes.
    """
    ordered = list(nodes)
    values = {id(t.grad_fn): t.detach() for t in tensors if t.grad_fn is not None}
    values |= {id(node): node.variable.detach() for node in ordered if hasattr(node, "variable")}
    for node in ordered:
        result = _read_saved(node, "_saved_result")
        if result is not None:
            values.setdefault(id(node), result)
        for name, (operand, output) in zip(OPERANDS, node.next_functions, strict=False):
            saved = _read_saved(node, name)
            if operand is not None and output == 0 and saved is not None:
                values.setdefault(id(operand), saved)
    for node in reversed(ordered):
        rule = RULES.get(node.name())
        operands = [_find_operand(node, position, values) for position in range(len(node.next_functions))]
        if id(node) in values or rule is None or not operands or getattr(node, "_saved_alpha", 1) != 1:
            continue
        if all(operand is not None for operand in operands):
            values[id(node)] = rule(*operands)
    return values


def _find_operand(node: Any, position: int, values: Mapping[int, Tensor]) -> Tensor | None:
    operand, output = node.next_functions[position]
    if operand is not None:
        return values.get(id(operand)) if output == 0 else None
    return _read_saved(node, OPERANDS[position]) if position < len(OPERANDS) else None


def _read_saved(node: Any, name: str) -> Tensor | None:
    try:
        value = getattr(node, name, None)
    except RuntimeError:  # freed, or changed in place
        return None
    return value.detach() if isinstance(value, Tensor) else None
