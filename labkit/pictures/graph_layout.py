"""Layout of an acyclic graph: boxes in layers, with few crossings."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ROW, GAP, SWEEPS = 58.0, 18.0, 12
Point = tuple[float, float]


@dataclass
class Layout:
    """The centre of each box, and for each edge the points on its way."""

    boxes: dict[int, Point]
    routes: list[list[Point]]
    width: float
    height: float


def compute_layout(widths: Mapping[int, float], edges: Sequence[tuple[int, int]], row: float = ROW) -> Layout:
    """Lay out a graph, whose edges lead from a box to one in a lower layer.

    Args:
        widths: The width of each box, by number.
    """
    depth = _compute_depths(widths, edges)
    size = dict(widths)
    chains: list[list[int]] = []
    for a, b in edges:  # a long edge gets a narrow placeholder in each layer between
        chain = [a]
        for layer in range(depth[a] + 1, depth[b]):
            place = -len(size) - 1
            size[place], depth[place] = 10.0, layer
            chain.append(place)
        chains.append([*chain, b])
    above: dict[int, list[int]] = {node: [] for node in size}
    below: dict[int, list[int]] = {node: [] for node in size}
    for chain in chains:
        for a, b in itertools.pairwise(chain):
            below[a].append(b)
            above[b].append(a)
    layers = [[node for node in size if depth[node] == layer] for layer in range(max(depth.values()) + 1)]
    _order(layers, above, below)
    x = _compute_abscissas(layers, above, below, size)
    boxes = {node: (x[node], row * (depth[node] + 0.5)) for node in size}
    width = max(x[node] + size[node] / 2 for node in size)
    routes = [[boxes[node] for node in chain] for chain in chains]
    return Layout({node: boxes[node] for node in widths}, routes, width, row * len(layers))


def compute_sideways_layout(sizes: Mapping[int, Point], edges: Sequence[tuple[int, int]], gap: float) -> Layout:
    """Lay out a graph in columns, whose edges lead to the right.

    Args:
        sizes: The width and the height of each box.
        gap: The distance between two columns.
    """
    upright = compute_layout({node: height for node, (_, height) in sizes.items()}, edges, 1)
    widths: dict[int, float] = {}
    for node, (_, y) in upright.boxes.items():
        widths[int(y)] = max(widths.get(int(y), 0.0), sizes[node][0])
    right = list(itertools.accumulate(widths[depth] + gap for depth in sorted(widths)))
    center = [edge - gap - widths[depth] / 2 for depth, edge in enumerate(right)]
    boxes = {node: (center[int(y)], x) for node, (x, y) in upright.boxes.items()}
    routes = [[(center[int(y)], x) for x, y in route] for route in upright.routes]
    return Layout(boxes, routes, right[-1] - gap, upright.width)


def fit_layout(layout: Layout, width: float, most: float, top: float = 0) -> Layout:
    """Move boxes apart sideways, at most by a factor, and center the layout in this width.

    Args:
        top: The space above.
    """
    factor = max(1.0, min(most, width / layout.width))
    margin = max(0.0, (width - factor * layout.width) / 2)

    def move(point: Point) -> Point:
        return margin + factor * point[0], point[1] + top

    boxes = {node: move(point) for node, point in layout.boxes.items()}
    routes = [[move(point) for point in route] for route in layout.routes]
    return Layout(boxes, routes, max(width, layout.width), layout.height)


def _compute_depths(widths: Mapping[int, float], edges: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Return the depth of each node: the length of the longest path that leads to it."""
    depth = dict.fromkeys(widths, 0)
    incoming = dict.fromkeys(widths, 0)
    following: dict[int, list[int]] = {node: [] for node in widths}
    for a, b in edges:
        incoming[b] += 1
        following[a].append(b)
    ready = [node for node in widths if not incoming[node]]
    while ready:
        node = ready.pop()
        for other in following[node]:
            depth[other] = max(depth[other], depth[node] + 1)
            incoming[other] -= 1
            if not incoming[other]:
                ready.append(other)
    return depth


def _order(layers: list[list[int]], above: Mapping[int, list[int]], below: Mapping[int, list[int]]) -> None:
    """Sort each layer by the mean position of its neighbors, down and up again."""
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for number in range(len(layers)) if down else reversed(range(len(layers))):
            near = (
                layers[number - 1]
                if down and number
                else layers[number + 1]
                if not down and number + 1 < len(layers)
                else []
            )
            place = {node: float(i) for i, node in enumerate(near)}
            linked = above if down else below
            current = {node: float(i) for i, node in enumerate(layers[number])}
            if place:
                layers[number].sort(
                    key=lambda node: _compute_mean([place[other] for other in linked[node]], current[node])
                )


def _compute_abscissas(
    layers: list[list[int]], above: Mapping[int, list[int]], below: Mapping[int, list[int]], size: Mapping[int, float]
) -> dict[int, float]:
    """Move each box as close as possible to the middle of its neighbors, without touching another box."""
    x: dict[int, float] = {}
    for layer in layers:
        right = 0.0
        for node in layer:
            x[node] = right + size[node] / 2
            right += size[node] + GAP
    for sweep in range(2 * SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            targets = {
                node: _compute_mean([x[other] for other in above[node] + below[node]], x[node]) for node in layer
            }
            for node, place in _push_apart(layer, targets, size).items():
                x[node] = place
    least = min(x[node] - size[node] / 2 for node in x)
    return {node: place - least for node, place in x.items()}


def _push_apart(layer: list[int], targets: Mapping[int, float], size: Mapping[int, float]) -> dict[int, float]:
    """Move the target positions apart as little as possible: the mean of pushing right and pushing left."""
    pushed: list[dict[int, float]] = []
    for nodes, way in ((layer, 1), (layer[::-1], -1)):
        places: dict[int, float] = {}
        last = None
        for node in nodes:
            place = targets[node]
            if last is not None:
                limit = places[last] + way * ((size[last] + size[node]) / 2 + GAP)
                place = max(place, limit) if way > 0 else min(place, limit)
            places[node], last = place, node
        pushed.append(places)
    return {node: (pushed[0][node] + pushed[1][node]) / 2 for node in layer}


def _compute_mean(values: list[float], default: float) -> float:
    return sum(values) / len(values) if values else default
