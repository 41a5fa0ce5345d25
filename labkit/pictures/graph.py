"""The autograd graph of a tensor: the backward functions that lead from it to the leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from labkit.pictures.graph_layout import compute_layout, compute_sideways_layout, fit_layout
from labkit.pictures.graph_route import compute_routes, draw_arrows
from labkit.pictures.palette import BLUE, GREEN, MUTED
from labkit.pictures.picture import WIDTH, Drawing, Picture, catch_failures
from labkit.pictures.svg import SMALL, draw_cell, measure_width

MAX_NODES = 200  # a larger graph can't be read as a picture
HIGH, GAP, TOP = 34, 34, 6  # pixels: the height of a box, between two boxes, above and below
MOST_SIDEWAYS, MOST_SPREAD = 830, 1.5  # pixels; a factor


@catch_failures
def show_graph(output: Tensor, names: Mapping[str, Tensor] | None = None) -> Picture:
    """Draw the graph that `output.backward()` would walk.

    Args:
        output: A tensor with a grad_fn.
        names: Name -> leaf tensor, to label the leaves.
    """
    if output.grad_fn is None:
        return Picture("no graph: this tensor has no grad_fn, so no operation is recorded behind it")
    labels, edges = walk_graph(output, names or {})
    words = "\n".join(f"{labels[a]} -> {labels[b]}" for a, b in edges) or labels[id(output.grad_fn)]
    if len(labels) > MAX_NODES:
        return Picture(f"(no picture: {len(labels)} nodes are too many to read)\n{words}")
    # Numbers, not addresses, so the same graph gives the same picture.
    place = {node: n for n, node in enumerate(labels)}
    result = tuple(output.shape)
    return Picture(words, lambda: _draw(list(labels.values()), [(place[a], place[b]) for a, b in edges], result))


def walk_graph(output: Tensor, names: Mapping[str, Tensor]) -> tuple[dict[int, str], list[tuple[int, int]]]:
    """Return the nodes' labels, by identity, and the edges of the backward graph, from the output to the leaves."""
    names_by_id = {id(t): name for name, t in names.items()}
    labels: dict[int, str] = {}
    alive = []  # an identity is unique only while its node is alive
    edges: list[tuple[int, int]] = []
    waiting = [output.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in labels:
            continue
        labels[id(node)] = _format_label(node, names_by_id)
        alive.append(node)
        for following, _ in node.next_functions:
            if following is not None:
                edges.append((id(node), id(following)))
                waiting.append(following)
    return labels, edges


def _format_label(node: Any, names_by_id: Mapping[int, str]) -> str:
    leaf = getattr(node, "variable", None)
    if leaf is None:
        return str(node.name())
    name = names_by_id.get(id(leaf), "leaf")
    return f"{name} {tuple(leaf.shape)}"


def _draw(labels: list[str], edges: list[tuple[int, int]], result: tuple[int, ...]) -> Drawing:
    """Draw nodes in gray, leaves after their AccumulateGrad in blue, and the result before the first node in green.

    Arrows lead to the right if there is room, and downward otherwise.
    """
    leaves = {n for n, label in enumerate(labels) if label.endswith(")")}
    boxes = {n: ("AccumulateGrad" if n in leaves else label, MUTED) for n, label in enumerate(labels)}
    boxes[len(labels)] = (f"result {result}", GREEN)
    edges = [(len(labels), 0), *edges]
    for n in sorted(leaves):
        edges.append((n, len(boxes)))
        boxes[len(boxes)] = (labels[n], BLUE)
    widths = {n: measure_width(label, SMALL) + 12 for n, (label, _) in boxes.items()}
    layout = compute_sideways_layout({n: (width, HIGH) for n, width in widths.items()}, edges, GAP)
    sideways = layout.width <= MOST_SIDEWAYS
    if sideways:
        reach = {n: width / 2 for n, width in widths.items()}
    else:
        layout = compute_layout(widths, edges)
        reach = dict.fromkeys(boxes, HIGH / 2)
    layout = fit_layout(layout, WIDTH - 8, MOST_SPREAD, TOP)
    parts = draw_arrows(compute_routes(layout, edges, reach, sideways), sideways)
    for n, (label, color) in boxes.items():
        x, y = layout.boxes[n]
        parts.append(draw_cell(x - widths[n] / 2, y - HIGH / 2, widths[n], HIGH, label, color, size=SMALL))
    return Drawing("An autograd graph", max(WIDTH, layout.width + 8), layout.height + 2 * TOP, parts)
