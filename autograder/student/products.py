"""Backward through a call that was served: vector-Jacobian products of its graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, get_gradient_edge

PASSED = "gradlab: backward pass that freed this node"


@dataclass
class Node:
    """Results of a call that can be differentiated: gradient edges of what went in and of what came out.

    between: those of the inputs that are other results of the call, through which these were computed. For the caller,
    these depend on those, and gradients go on from there by another node.
    shared: parts of its graph may belong to other calls too, as those of a generator's items, or of a gradient and
    the value that it is the gradient of. The caller may go through all of them in one backward pass.
    """

    inputs: list[Any]
    outputs: list[Any]
    between: list[Tensor] = field(default_factory=list)
    shared: bool = False


class BackwardPass(NamedTuple):
    """The caller's backward pass: its number, and what it was asked to do.

    accumulate: it fills .grad of all leaves, so those of the student's own get theirs.
    """

    number: int
    keep: bool
    create: bool
    accumulate: bool


def find_gradient_edge(t: Tensor) -> GradientEdge:
    """torch's get_gradient_edge, which for a leaf takes three times as long."""
    if t.grad_fn is not None or not t.requires_grad:
        return get_gradient_edge(t)
    recording = torch.is_grad_enabled()
    torch._C._set_grad_enabled(True)
    try:
        made: Any = t.view_as(t).grad_fn
        return GradientEdge(made.next_functions[0][0], 0)
    finally:
        torch._C._set_grad_enabled(recording)


def get_current_pass(anchor: Any) -> BackwardPass:
    """The pass in which this is called. anchor: the node of a leaf that only a pass which fills every .grad reaches."""
    return BackwardPass(
        torch._C._current_graph_task_id(),
        torch._C._autograd._get_current_graph_task_keep_graph(),  # type: ignore[attr-defined]
        torch.is_grad_enabled(),
        torch._C._will_engine_execute_node(anchor),  # type: ignore[attr-defined]
    )


def compute_vjp(node: Node, grads: list[Tensor | None], needed: list[int], how: BackwardPass) -> list[Tensor | None]:
    """The gradients of the needed inputs. Raises what backward raises."""
    flowing = [(out, g) for out, g in zip(node.outputs, grads, strict=True) if g is not None]
    outputs, weights = [out for out, _ in flowing], [g for _, g in flowing]
    inputs = [node.inputs[i] for i in needed]
    node.shared = node.shared or how.create
    if node.shared:
        _pass_once(outputs, how)
    return _run_backward(node, inputs, outputs, weights, how.keep or node.shared, how)


def _run_backward(
    node: Node, inputs: list[Any], outputs: list[Any], weights: list[Tensor], keep: bool, how: BackwardPass
) -> list[Tensor | None]:
    found: list[Tensor | None] = [None] * len(inputs)
    leaves = [edge.node.variable for edge in inputs if hasattr(edge.node, "variable")] if how.accumulate else []
    grads = [leaf.grad for leaf in leaves]
    hooks = []
    try:
        if how.accumulate:  # a whole pass: what arrives at the inputs is caught on the way, and is not for their .grad
            hooks += [edge.node.register_prehook(_catch(found, i, edge.output_nr)) for i, edge in enumerate(inputs)]
            for leaf in leaves:
                leaf.grad = None  # else the pass would add to the memory of the old one
        hooks += [_GradientStop(t) for t in node.between]
        if how.accumulate:
            torch.autograd.backward(outputs, weights, retain_graph=keep, create_graph=how.create)
        elif inputs and outputs:
            found = list(torch.autograd.grad(outputs, inputs, weights, keep, how.create, allow_unused=True))
    finally:
        for hook in reversed(hooks):
            hook.remove()
        for leaf, grad in zip(leaves, grads, strict=True):
            leaf.grad = grad
    return found


def _catch(found: list[Tensor | None], i: int, output_nr: int) -> Any:
    def store_gradient(grads: tuple[Tensor | None, ...]) -> None:
        found[i] = grads[output_nr]

    return store_gradient


class _GradientStop:
    """Lets no gradient go beyond this tensor. Its own hooks wait for the pass that starts from it."""

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


def group_layers(edges: dict[int, Any]) -> list[tuple[list[int], list[int]]]:
    """[(keys of some edges, keys of the edges that they were computed through)], those that others depend on first."""
    if len(edges) < 2:
        return [(list(edges), [])]
    keys = {(edge.node, edge.output_nr): key for key, edge in edges.items()}
    starts = [following for edge in edges.values() for following in edge.node.next_functions]
    if not _find_reached(starts, keys):
        return [(list(edges), [])]
    through = {key: _find_reached(list(edge.node.next_functions), keys) - {key} for key, edge in edges.items()}
    result: list[tuple[list[int], list[int]]] = []
    done: set[int] = set()
    while len(done) < len(edges):
        ready = [key for key in edges if key not in done and through[key] <= done]
        result.append((ready, sorted(set().union(*[through[key] for key in ready]))))
        done |= set(ready)
    return result


def _find_reached(todo: list[Any], keys: dict[Any, int]) -> set[int]:
    found, seen = set(), set()
    while todo:
        node, output_nr = todo.pop()
        if (node, output_nr) in keys:
            found.add(keys[node, output_nr])
        if node is not None and node not in seen:
            seen.add(node)
            todo += node.next_functions
    return found


def _pass_once(outputs: list[Any], how: BackwardPass) -> None:
    """Do for a shared graph what torch does for others: what one pass has freed, no later pass goes through.

    Nothing is really freed, because the same pass may come here again by way of another call.
    """
    for node in _iter_nodes(outputs):
        before = node.metadata.get(PASSED, how.number)
        if before != how.number and _has_saved_tensors(node):
            raise RuntimeError("Trying to backward through the graph a second time: specify retain_graph=True")
        if not how.keep:
            node.metadata[PASSED] = how.number


def _iter_nodes(edges: list[Any]) -> Iterator[Any]:
    seen, todo = set(), [edge.node for edge in edges]
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            yield node
            todo += [following for following, _ in node.next_functions if following is not None]


def _has_saved_tensors(node: Any) -> bool:
    if hasattr(node, "saved_tensors"):
        return bool(node.saved_tensors)
    saved = [name for name in dir(node) if name.startswith("_raw_saved_")]
    return bool(saved)
