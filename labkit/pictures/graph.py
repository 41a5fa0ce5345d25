"""The autograd graph of a tensor: the backward functions that lead from it to the leaves."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from labkit.pictures.graph_layout import Layout, compute_layout
from labkit.pictures.picture import Drawing, Picture, catch_failures
from labkit.pictures.svg import BLUE, GRAY, GREEN, draw_cell, measure_width, to_svg

MAX_NODES = 200  # a larger graph can't be read as a picture
HIGH = 26  # pixels: the height of a box


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
    """Draw nodes in gray, leaves below their AccumulateGrad in blue, and the result above the first node in green."""
    leaves = {n for n, label in enumerate(labels) if label.endswith(")")}
    boxes = {n: ("AccumulateGrad" if n in leaves else label, GRAY) for n, label in enumerate(labels)}
    boxes[len(labels)] = (f"result {result}", GREEN)
    edges = [(len(labels), 0), *edges]
    for n in sorted(leaves):
        edges.append((n, len(boxes)))
        boxes[len(boxes)] = (labels[n], BLUE)
    layout = compute_layout({n: measure_width(label, 11) + 14 for n, (label, _) in boxes.items()}, edges)
    parts = draw_arrows(layout, edges, HIGH)
    for n, (label, color) in boxes.items():
        x, y = layout.boxes[n]
        width = measure_width(label, 11) + 14
        parts.append(draw_cell(x - width / 2 + 4, y - HIGH / 2, width, HIGH, label, color, 0.28))
    return Drawing("An autograd graph", layout.width + 8, layout.height, parts)


def draw_arrows(layout: Layout, edges: Sequence[tuple[int, int]], high: float) -> list[str]:
    """Draw the edges as curves from box to box. Several edges between the same two boxes are side by side."""
    parts = []
    for n, (edge, route) in enumerate(zip(edges, layout.routes, strict=True)):
        parallel = [m for m, other in enumerate(edges) if other == edge]
        offset = 16.0 * (parallel.index(n) - (len(parallel) - 1) / 2)
        points = [(x + 4 + offset, y) for x, y in route]
        points[0], points[-1] = (points[0][0], points[0][1] + high / 2), (points[-1][0], points[-1][1] - high / 2 - 6)
        d = f"M{to_svg(points[0][0])} {to_svg(points[0][1])}"
        for (xa, ya), (xb, yb) in itertools.pairwise(points):
            middle = to_svg((ya + yb) / 2)
            d += f"C{to_svg(xa)} {middle} {to_svg(xb)} {middle} {to_svg(xb)} {to_svg(yb)}"
        x, y = points[-1]
        head = f"M{to_svg(x - 4)} {to_svg(y - 2)}L{to_svg(x)} {to_svg(y + 6)}L{to_svg(x + 4)} {to_svg(y - 2)}z"
        parts.append(f"<path d='{d}' fill='none' stroke='{GRAY}' stroke-width='1.4'/><path d='{head}' fill='{GRAY}'/>")
    return parts
