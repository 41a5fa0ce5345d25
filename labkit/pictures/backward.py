"""Values forward and gradients backward through a small graph, node by node, with the sums of gradients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from labkit.pictures.graph import walk_graph
from labkit.pictures.graph_layout import compute_sideways_layout, fit_layout
from labkit.pictures.graph_route import compute_routes, draw_arrows
from labkit.pictures.node_values import compute_values
from labkit.pictures.palette import BLUE, MUTED, RED
from labkit.pictures.picture import WIDTH, Drawing, Group, Picture, Table, catch_failures
from labkit.pictures.svg import (
    SMALL,
    draw_cell,
    draw_label,
    draw_rect,
    draw_text,
    draw_traveler,
    measure_width,
    show_only,
)

MAX_NODES, MAX_SHOWN = 24, 4
HIGH, ROOM = 48, 22  # pixels: the height of a box, and above and below it


@dataclass
class SentGradients:
    """What a node did in backward."""

    label: str
    upstream: str
    """The gradient accumulated for it."""
    to: list[tuple[int, str, str]] = field(default_factory=list)
    """For each gradient that it sent: the number of the edge among its own, the label of the receiver, the gradient."""


@dataclass(frozen=True)
class BackwardNode:
    """A box of the picture."""

    name: str
    """The name of its value; that of its function if it has none."""
    value: str
    """Its value in the forward pass; empty if the graph doesn't say."""
    function: str
    """The name of its function; empty for a leaf."""

    def describe(self) -> str:
        return f"{self.name} = {self.value or 'unknown'}"

    @property
    def title(self) -> str:
        if self.name == self.function:
            return self.value or "?"
        return f"{self.name} = {self.value}"


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
    nodes = _build_nodes(output, names, list(labels))
    links = [(place[a], place[b]) for a, b in edges]
    steps = _run(output, place, [node.name for node in nodes])
    words = [
        "forward: " + ", ".join(node.describe() for node in reversed(nodes)),
        *(_describe_step(step) for step in steps.values()),
    ]
    return Picture("\n".join(words), lambda: _draw(nodes, links, steps, words))


def _collect_nodes(output: Tensor) -> dict[int, Any]:
    """Return the nodes of the graph by identity, each before those that it leads to."""
    nodes: dict[int, Any] = {}

    def walk(node: Any) -> None:
        if node is not None and id(node) not in nodes:
            nodes[id(node)] = node
            for following, _ in node.next_functions:
                walk(following)
            nodes[id(node)] = nodes.pop(id(node))

    walk(output.grad_fn)
    return dict(reversed(nodes.items()))


def _build_nodes(output: Tensor, names: Mapping[str, Tensor], order: list[int]) -> list[BackwardNode]:
    nodes = _collect_nodes(output)
    values = compute_values(nodes.values(), [output, *names.values()])
    titles = {id(output.grad_fn): "result"}
    titles |= {id(t.grad_fn): name for name, t in names.items() if t.grad_fn is not None}
    leaf_names = {id(t): name for name, t in names.items()}
    described = []
    for identity in order:
        node = nodes[identity]
        value = _format_value(values[identity]) if identity in values else ""
        if hasattr(node, "variable"):
            described.append(BackwardNode(leaf_names.get(id(node.variable), "leaf"), value, ""))
        else:
            described.append(BackwardNode(titles.get(identity, node.name()), value, node.name()))
    return described


def _run(output: Tensor, place: Mapping[int, int], labels: list[str]) -> dict[int, SentGradients]:
    """Record what each node receives and sends, in the order in which backward runs them, leaves last."""
    nodes = _collect_nodes(output)
    steps: dict[int, SentGradients] = {}
    arrived: dict[int, list[Tensor]] = {number: [] for number in place.values()}

    def record(node: Any, sent: tuple[Tensor | None, ...], received: tuple[Tensor | None, ...]) -> None:
        upstream = next((t for t in received if t is not None), None)
        step = SentGradients(labels[place[id(node)]], _format_sum(arrived[place[id(node)]], upstream))
        edges = [(f, gradient) for (f, _), gradient in zip(node.next_functions, sent, strict=False) if f is not None]
        for position, (following, gradient) in enumerate(edges):
            if gradient is not None:
                step.to.append((position, labels[place[id(following)]], _format_value(gradient)))
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
    return f"{step.label}: gets {step.upstream}, sends {', '.join(f'{g} to {to}' for _, to, g in step.to)}"


def _draw(
    nodes: list[BackwardNode], links: list[tuple[int, int]], steps: dict[int, SentGradients], words: list[str]
) -> Drawing:
    """Draw the graph with a frame around the current node, what it sends, and the gradients that nodes received so far.

    What a node sends travels along its edges.
    """
    order = list(steps)
    gradients = {n: f"gradient {step.upstream}" for n, step in steps.items()}
    sizes = {n: (_measure_node(node, gradients.get(n, "")), HIGH + 2.0 * ROOM) for n, node in enumerate(nodes)}
    longest = max(
        [measure_width(gradient, SMALL) for step in steps.values() for _, _, gradient in step.to], default=0.0
    )
    layout = compute_sideways_layout(sizes, links, longest + 46)
    layout = fit_layout(layout, WIDTH - 8, 1.3)
    widths = [_measure_node(node, "") for node in nodes]
    routes = compute_routes(layout, links, {n: width / 2 for n, width in enumerate(widths)}, sideways=True)
    parts = draw_arrows(routes, sideways=True)
    for n, node in enumerate(nodes):
        x, y = layout.boxes[n]
        left, top = x - widths[n] / 2, y - HIGH / 2
        parts.append(draw_cell(left, top, widths[n], HIGH, "", MUTED if node.function else BLUE))
        parts.append(draw_text(x, y - 3 if node.function else y + 5, node.title, anchor="middle"))
        if node.function:
            parts.append(draw_text(x, y + 14, node.function, anchor="middle", size=SMALL))
        if n in steps:
            turn = order.index(n) + 1
            frame = draw_rect(left - 3, top - 3, widths[n] + 6, HIGH + 6, stroke=RED, extra="stroke-width='3' rx='5'")
            own = [route for route, (start, _) in zip(routes, links, strict=True) if start == n]
            sent = []
            for position, _, gradient in steps[n].to:
                data, end = own[position].half
                sent.append(draw_traveler(data, end, draw_label(gradient, RED)))
            parts.append(show_only([turn], frame, *sent))
            received = draw_text(x, y + HIGH / 2 + 18, gradients[n], RED, "middle", SMALL)
            parts.append(show_only(range(turn, len(order) + 1), received))
    names = ["forward", *(steps[n].label for n in order)]
    rows = [[step.label, step.upstream, ", ".join(f"{g} to {to}" for _, to, g in step.to)] for step in steps.values()]
    return Drawing(
        "Gradients on their way back",
        max(WIDTH, layout.width + 8),
        layout.height,
        parts,
        [Group("step", names, True)],
        words,
        caption=True,
        table=Table("Gradients as a table", [["node", "gradient", "sends"], *rows]),
    )


def _measure_node(node: BackwardNode, gradient: str) -> float:
    """Return the width of a node's box, or of the words below it."""
    inside = max(measure_width(node.title), measure_width(node.function, SMALL)) + 14
    return max(inside, measure_width(gradient, SMALL))
