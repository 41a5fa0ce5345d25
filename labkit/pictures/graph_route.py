"""The edges of a graph as curves from box to box."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from labkit.pictures.graph_layout import Layout, Point
from labkit.pictures.palette import MUTED
from labkit.pictures.svg import to_svg

APART, HEAD = 24.0, 8.0  # pixels between edges of the same two boxes; the length of an arrow's head
Curve = tuple[Point, Point, Point, Point]


@dataclass(frozen=True)
class Route:
    """One edge: curves with two control points each."""

    curves: Sequence[Curve]

    @property
    def data(self) -> str:
        """The data of its path."""
        return _format_curves(self.curves)

    @property
    def half(self) -> tuple[str, Point]:
        """The data of the path to its middle, and that point."""
        number = len(self.curves) // 2
        before, (a, b, c, d) = self.curves[:number], self.curves[number]
        if len(self.curves) % 2 == 0:
            return _format_curves(before), a
        ab, bc, cd = _compute_middle(a, b), _compute_middle(b, c), _compute_middle(c, d)
        abc, bcd = _compute_middle(ab, bc), _compute_middle(bc, cd)
        end = _compute_middle(abc, bcd)
        return _format_curves([*before, (a, ab, abc, end)]), end


def compute_routes(
    layout: Layout, edges: Sequence[tuple[int, int]], reach: Mapping[int, float], sideways: bool
) -> list[Route]:
    """Return the route of each edge. Several edges between the same two boxes are side by side.

    Args:
        reach: The distance from a box's center to its edge in the direction of the arrows.
        sideways: Whether arrows lead from left to right instead of downward.
    """
    routes = []
    for n, ((start, end), way) in enumerate(zip(edges, layout.routes, strict=True)):
        parallel = [m for m, other in enumerate(edges) if other == (start, end)]
        offset = APART * (parallel.index(n) - (len(parallel) - 1) / 2)
        # Along the arrows first, then across.
        points = [(x, y + offset) if sideways else (y, x + offset) for x, y in way]
        points[0] = (points[0][0] + reach[start], points[0][1])
        points[-1] = (points[-1][0] - reach[end] - HEAD, points[-1][1])
        curves = []
        for (a, across_a), (b, across_b) in itertools.pairwise(points):
            corners = [(a, across_a), ((a + b) / 2, across_a), ((a + b) / 2, across_b), (b, across_b)]
            first, second, third, fourth = corners if sideways else [(across, along) for along, across in corners]
            curves.append((first, second, third, fourth))
        routes.append(Route(curves))
    return routes


def draw_arrows(routes: Sequence[Route], sideways: bool) -> list[str]:
    parts = []
    for route in routes:
        x, y = route.curves[-1][3]
        corners = [(x, y - 5), (x + HEAD, y), (x, y + 5)] if sideways else [(x - 5, y), (x, y + HEAD), (x + 5, y)]
        head = "M" + "L".join(map(_format_point, corners)) + "z"
        parts.append(f"<path d='{route.data}' fill='none' stroke='{MUTED}' stroke-width='1.6'/>")
        parts.append(f"<path d='{head}' fill='{MUTED}'/>")
    return parts


def _format_curves(curves: Sequence[Curve]) -> str:
    return f"M{_format_point(curves[0][0])}" + "".join(
        f"C{' '.join(map(_format_point, curve[1:]))}" for curve in curves
    )


def _format_point(point: Point) -> str:
    return f"{to_svg(point[0])} {to_svg(point[1])}"


def _compute_middle(a: Point, b: Point) -> Point:
    return (a[0] + b[0]) / 2, (a[1] + b[1]) / 2
