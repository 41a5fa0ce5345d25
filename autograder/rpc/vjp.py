"""Vector-Jacobian products: computes the gradients of a call's inputs, on the side where its graph is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, get_gradient_edge

FREED_BY = "gradlab: backward pass that freed this node"


@dataclass
class Node:
    """The part of a call's graph between the gradient edges of its inputs and outputs."""

    inputs: list[Any]
    outputs: list[Any]
    between: list[Tensor] = field(default_factory=list)
    """Inputs that are other results of the call. Gradients go on from there by another node."""
    shared: bool = False
    """Whether parts of its graph may belong to other calls too, as for a generator's items, or for a gradient and its
    function's value. The caller may go through all of them in one backward pass."""


class BackwardOptions(NamedTuple):
    """What a backward pass of the caller asks for."""

    graph_task_id: int
    """The number that torch gave it."""
    retain_graph: bool
    create_graph: bool
    accumulate: bool
    """Whether it fills .grad of all leaves, so those of the student's own leaves too."""


def find_gradient_edge(t: Tensor) -> GradientEdge:
    """Return the gradient edge, like torch's get_gradient_edge, which takes three times as long for a leaf."""
    if t.grad_fn is not None or not t.requires_grad:
        return get_gradient_edge(t)
    recording = torch.is_grad_enabled()
    torch._C._set_grad_enabled(True)
    try:
        view: Any = t.view_as(t).grad_fn
        return GradientEdge(view.next_functions[0][0], 0)
    finally:
        torch._C._set_grad_enabled(recording)


def get_current_options(anchor: Any) -> BackwardOptions:
    """Return the options of the backward pass in which this is called.

    Args:
        anchor: The node of a leaf that only a pass that fills every .grad reaches.
    """
    return BackwardOptions(
        torch._C._current_graph_task_id(),
        torch._C._autograd._get_current_graph_task_keep_graph(),
        torch.is_grad_enabled(),
        torch._C._will_engine_execute_node(anchor),
    )


def compute_vjp(
    node: Node, grads: list[Tensor | None], needed: list[int], options: BackwardOptions
) -> list[Tensor | None]:
    """Return the gradients of the needed inputs. Raises what backward raises.

    Args:
        grads: The gradient of each output; None if the caller's pass doesn't reach it.
        needed: The indices of the inputs.
    """
    pairs = [(out, g) for out, g in zip(node.outputs, grads, strict=True) if g is not None]
    outputs, weights = [out for out, _ in pairs], [g for _, g in pairs]
    inputs = [node.inputs[i] for i in needed]
    node.shared = node.shared or options.create_graph
    if node.shared:
        _refuse_second_pass(outputs, options)
    return _run_backward(node, inputs, outputs, weights, options.retain_graph or node.shared, options)


def _run_backward(
    node: Node, inputs: list[Any], outputs: list[Any], weights: list[Tensor], keep: bool, options: BackwardOptions
) -> list[Tensor | None]:
    """Return the gradient of each input, None if there's none. The inputs' own .grad stays as it was."""
    results: list[Tensor | None] = [None] * len(inputs)
    accumulate, create = options.accumulate, options.create_graph
    leaves = [edge.node.variable for edge in inputs if hasattr(edge.node, "variable")] if accumulate else []
    grads = [leaf.grad for leaf in leaves]
    hooks = []
    try:
        if accumulate:  # a pass to all leaves: the inputs' gradients are caught on the way, and don't fill their .grad
            hooks += [edge.node.register_prehook(_catch(results, i, edge.output_nr)) for i, edge in enumerate(inputs)]
            for leaf in leaves:
                leaf.grad = None  # else the pass would add to the memory of the old one
        hooks += [_GradientStop(t) for t in node.between]
        if accumulate:
            torch.autograd.backward(outputs, weights, retain_graph=keep, create_graph=create)
        elif inputs and outputs:
            results = list(torch.autograd.grad(outputs, inputs, weights, keep, create, allow_unused=True))
    finally:
        for hook in reversed(hooks):
            hook.remove()
        for leaf, grad in zip(leaves, grads, strict=True):
            leaf.grad = grad
    return results


def _catch(results: list[Tensor | None], i: int, output_nr: int) -> Any:
    def store_gradient(grads: tuple[Tensor | None, ...]) -> None:
        results[i] = grads[output_nr]

    return store_gradient


class _GradientStop:
    """Stops gradients at this tensor. Its own hooks wait for the pass that starts from it."""

    def __init__(self, t: Tensor) -> None:
        edge = find_gradient_edge(t)
        self.output_nr = edge.output_nr
        self.handle = edge.node.register_prehook(self)
        self.hooks = t._backward_hooks
        self.waiting = dict(self.hooks or {})
        if self.hooks:
            self.hooks.clear()

    def __call__(self, grads: tuple[Tensor | None, ...]) -> Any:
        return tuple(None if i == self.output_nr else g for i, g in enumerate(grads))

    def remove(self) -> None:
        self.handle.remove()
        if self.hooks is not None:
            self.hooks.update(self.waiting)


def _refuse_second_pass(outputs: list[Any], options: BackwardOptions) -> None:
    """Raise RuntimeError for a second pass through a shared graph, as torch does after a graph was freed.

    Nothing is really freed, because the same pass may arrive here again through another call.
    """
    for node in _iter_nodes(outputs):
        freed_by = node.metadata.get(FREED_BY, options.graph_task_id)
        if freed_by != options.graph_task_id and _has_saved_tensors(node):
            raise RuntimeError("Trying to backward through the graph a second time: specify retain_graph=True")
        if not options.retain_graph:
            node.metadata[FREED_BY] = options.graph_task_id


def _iter_nodes(edges: list[Any]) -> Iterator[Any]:
    seen, todo = set(), [edge.node for edge in edges]
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            yield node
            todo += [function for function, _ in node.next_functions if function is not None]


def _has_saved_tensors(node: Any) -> bool:
    if hasattr(node, "saved_tensors"):
        return bool(node.saved_tensors)
    return any(name.startswith("_raw_saved_") for name in dir(node))
