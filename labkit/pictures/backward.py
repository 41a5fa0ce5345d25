"""Values forward and gradients backward through a small graph, node by node, with the sums of gradients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from labkit.pictures.graph import draw_arrows, walk_graph
from labkit.pictures.graph_layout import compute_layout
from labkit.pictures.picture import Drawing, Group, Picture, catch_failures
from labkit.pictures.svg import BLUE, GRAY, OCHRE, RED, draw_cell, draw_rect, draw_text, measure_width, show_only

MAX_NODES, MAX_SHOWN = 24, 4
HIGH, ROW = 26, 84  # pixels


@dataclass
class SentGradients:
    """What a node did in backward."""

    label: str
    upstream: str
    """The gradient accumulated for it."""
    to: list[tuple[str, str]] = field(default_factory=list)
    """The labels of nodes, each with the gradient sent there."""


@catch_failures
def show_backward(output: Tensor, names: Mapping[str, Tensor]) -> Picture:
    """Draw the graph of `output`, a scalar, and step by step the gradients that backward sends through it.

    It changes nothing: no .grad, and the graph stays usable for another pass. It draws at most 24 nodes.

    Args:
        names: Name -> tensor, for leaves, and for results whose value is shown at their node.
    """
    if output.grad_fn is None or output.numel() != 1:
        raise ValueError("output must be a scalar with a grad_fn")
    labels, edges = walk_graph(output, names)
    if len(labels) > MAX_NODES:
        raise ValueError(f"{len(labels)} nodes are more than {MAX_NODES}")
    place = {node: n for n, node in enumerate(labels)}
    values = {
        place[id(t.grad_fn)]: f"{name} = {_format_value(t)}" for name, t in names.items() if id(t.grad_fn) in place
    }
    values[0] = values.get(0, f"result = {_format_value(output)}")
    boxes = {n: values.get(n, label) for n, label in enumerate(labels.values())}
    leaves = _find_leaves(output, names)
    for node, name in leaves.items():
        boxes[place[node]] = name
    links = [(place[a], place[b]) for a, b in edges]
    node_names = [text.split(" = ")[0] for text in boxes.values()]
    steps = _run(output, place, node_names)
    words = [f"forward: result = {_format_value(output)}", *(_describe_step(step) for step in steps.values())]
    return Picture("\n".join(words), lambda: _draw(boxes, _list_functions(labels), links, steps, words))


def _list_functions(labels: Mapping[int, str]) -> list[str]:
    """List the name of each node; empty for a leaf."""
    return ["" if label.endswith(")") else label for label in labels.values()]


def _find_leaves(output: Tensor, names: Mapping[str, Tensor]) -> dict[int, str]:
    """Return each leaf's node, with the leaf's name and value."""
    names_by_id = {id(t): name for name, t in names.items()}
    leaves, stack, seen = {}, [output.grad_fn], set()
    while stack:
        node: Any = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves[id(node)] = f"{names_by_id.get(id(node.variable), 'leaf')} = {_format_value(node.variable)}"
        stack += [following for following, _ in node.next_functions]
    return leaves


def _run(output: Tensor, place: Mapping[int, int], labels: list[str]) -> dict[int, SentGradients]:
    """Record what each node receives and sends, in the order in which backward runs them, leaves last."""
    nodes: dict[int, Any] = {}
    stack: list[Any] = [output.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None and id(node) not in nodes:
            nodes[id(node)] = node
            stack += [following for following, _ in node.next_functions]
    steps: dict[int, SentGradients] = {}
    arrived: dict[int, list[Tensor]] = {number: [] for number in place.values()}

    def record(node: Any, sent: tuple[Tensor | None, ...], received: tuple[Tensor | None, ...]) -> None:
        upstream = next((t for t in received if t is not None), None)
        step = SentGradients(labels[place[id(node)]], _format_sum(arrived[place[id(node)]], upstream))
        for (following, _), gradient in zip(node.next_functions, sent, strict=False):
            if following is not None and gradient is not None:
                step.to.append((labels[place[id(following)]], _format_value(gradient)))
                arrived[place[id(following)]].append(gradient.detach().clone())
        steps[place[id(node)]] = step

    inner = [node for node in nodes.values() if not hasattr(node, "variable")]
    leaves = [node.variable for node in nodes.values() if hasattr(node, "variable")]
    handles = [node.register_hook(lambda sent, received, node=node: record(node, sent, received)) for node in inner]
    try:
        gradients = torch.autograd.grad(output, leaves, retain_graph=True)
    finally:
        for handle in handles:
            handle.remove()
    for node, gradient in zip([n for n in nodes.values() if hasattr(n, "variable")], gradients, strict=True):
        number = place[id(node)]
        steps[number] = SentGradients(labels[number], _format_sum(arrived[number], gradient))
    return steps


def _format_sum(parts: list[Tensor], total: Tensor | None) -> str:
    if total is None:
        return "nothing"
    if len(parts) < 2:
        return _format_value(total)
    return f"{' + '.join(map(_format_value, parts))} = {_format_value(total)}"


def _format_value(t: Tensor) -> str:
    """Format the tensor's value, or its shape if it's large."""
    if t.numel() > MAX_SHOWN:
        return f"a tensor of shape {tuple(t.shape)}"
    listed: Any = t.detach().tolist()
    return f"{listed:.4g}" if isinstance(listed, float) else _format_nested(listed)


def _format_nested(listed: Any) -> str:
    return f"[{', '.join(map(_format_nested, listed))}]" if isinstance(listed, list) else f"{listed:.4g}"


def _describe_step(step: SentGradients) -> str:
    if not step.to:
        return f"{step.label}: its gradient is {step.upstream}"
    return f"{step.label}: gets {step.upstream}, sends {', '.join(f'{g} to {to}' for to, g in step.to)}"


def _draw(
    boxes: dict[int, str],
    functions: list[str],
    links: list[tuple[int, int]],
    steps: dict[int, SentGradients],
    words: list[str],
) -> Drawing:
    """Draw the graph with a frame around the current node and, in red, the gradients that nodes received so far."""
    order = list(steps)
    widths = {n: max(measure_width(label, 11), measure_width(functions[n], 10)) + 14 for n, label in boxes.items()}
    margins = {n: measure_width(steps[n].upstream, 11) + 10 if n in steps else 0.0 for n in boxes}
    layout = compute_layout({n: widths[n] + 2 * margins[n] for n in boxes}, links, ROW)
    parts = draw_arrows(layout, links, HIGH)
    for n, label in boxes.items():
        x, y = layout.boxes[n][0] + 4, layout.boxes[n][1]
        left = x - widths[n] / 2
        parts.append(draw_cell(left, y - HIGH / 2, widths[n], HIGH, label, GRAY if functions[n] else BLUE, 0.28))
        if functions[n] not in ("", label):
            parts.append(draw_text(x + 8, y + HIGH / 2 + 12, functions[n], GRAY, size=10))
        if n in steps:
            turn = order.index(n) + 1
            frame = draw_rect(
                left - 2, y - HIGH / 2 - 2, widths[n] + 4, HIGH + 4, stroke=OCHRE, extra="stroke-width='3'"
            )
            parts.append(show_only([turn], frame))
            gradient = draw_text(left + widths[n] + 8, y + 4, steps[n].upstream, RED, size=11)
            parts.append(show_only(range(turn, len(order) + 1), gradient))
    parts += [show_only([n], draw_text(4, layout.height + 14, line)) for n, line in enumerate(words)]
    names = ["forward", *(steps[n].label for n in order)]
    width = max(layout.width + 8, max(map(len, words)) * 7.2)
    return Drawing("Gradients on their way back", width, layout.height + 24, parts, [Group("step", names, True)], words)
