"""A function's values forward above the slope that its backward claims, with a movable position."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from torch import Tensor

from labkit.pictures.chart import TOP, Axes, Line, draw_frame, draw_lines, fit_axes
from labkit.pictures.palette import RED
from labkit.pictures.picture import WIDTH, Drawing, Group, Picture, Table, catch_failures
from labkit.pictures.svg import draw_circle, draw_path, show_only

POINTS, PLACES = 201, 17
HEIGHT, GAP = 170, 62  # pixels


@catch_failures
def show_straight_through(functions: Mapping[str, Callable[[Tensor], Tensor]], reach: float = 2.0) -> Picture:
    """Draw each function from -reach to reach, and below it the gradient that its backward returns.

    The red line has the slope that backward claims at its position.

    Args:
        functions: Label -> elementwise function of a tensor.
    """
    places = torch.linspace(-reach, reach, PLACES)
    curves = {
        name: (_compute_both(f, torch.linspace(-reach, reach, POINTS)), _compute_both(f, places))
        for name, f in functions.items()
    }
    words = [
        f"{name}: at x = {x:.3g} the value is {value:.3g}, the gradient {slope:.3g}"
        for name, (_, at) in curves.items()
        for x, value, slope in at
    ]
    summary = [
        f"{name}: values {_format_range(line, 1)}, gradients {_format_range(line, 2)}"
        for name, (line, _) in curves.items()
    ]
    return Picture("\n".join(summary), lambda: _draw(curves, [f"x = {x:.3g}" for x in places.tolist()], words))


def _compute_both(f: Callable[[Tensor], Tensor], x: Tensor) -> list[tuple[float, float, float]]:
    """Return x, f(x) and the gradient of the sum of f(x), for each number."""
    leaf = x.clone().requires_grad_()
    value = f(leaf)
    (slope,) = torch.autograd.grad(value.sum(), leaf) if value.requires_grad else (torch.zeros_like(x),)
    return list(zip(x.tolist(), value.detach().tolist(), slope.tolist(), strict=True))


def _format_range(line: list[tuple[float, float, float]], column: int) -> str:
    values = [one[column] for one in line]
    return f"from {min(values):.3g} to {max(values):.3g}"


def _draw(
    curves: Mapping[str, tuple[list[tuple[float, float, float]], list[tuple[float, float, float]]]],
    places: list[str],
    words: list[str],
) -> Drawing:
    """Draw values above gradients, with a dot at the chosen place in both, and a tangent with the claimed slope."""
    parts = []
    points = [(x, value, slope) for line, _ in curves.values() for x, value, slope in line]
    upper = _build_axes("forward: value", [(x, value) for x, value, _ in points])
    lower = _build_axes("backward: gradient", [(x, slope) for x, _, slope in points])
    offset = TOP + HEIGHT + GAP - 30
    for number, (line, at) in enumerate(curves.values()):
        frames = range(number * len(places), (number + 1) * len(places))
        forward = draw_lines(upper, [Line("", [(x, value) for x, value, _ in line])])
        backward = draw_lines(lower, [Line("", [(x, slope) for x, _, slope in line])])
        parts.append(show_only(frames, *forward, _move_down(offset, *backward)))
        for frame, (x, value, slope) in zip(frames, at, strict=True):
            here, there = upper.place(x, value), lower.place(x, slope)
            tangent = draw_path(_compute_tangent(upper, x, value, slope), RED, 2.6)
            dots = draw_circle(*here, 6, RED) + _move_down(offset, draw_circle(*there, 6, RED))
            parts.append(show_only([frame], tangent, dots))
    axes = [*draw_frame(upper), _move_down(offset, *draw_frame(lower))]
    groups = [Group("function", list(curves)), Group("place", places, True)]
    rows = [[name, *(f"{number:.3g}" for number in point)] for name, (_, at) in curves.items() for point in at]
    table = Table("Values and gradients as a table", [["function", "x", "value", "gradient"], *rows])
    return Drawing("A step and its slope", WIDTH, 2 * offset + 4, [*axes, *parts], groups, words, True, table)


def _build_axes(label: str, points: list[tuple[float, float]]) -> Axes:
    return replace(fit_axes([Line("", points)], "x" if "back" in label else "", label), height=HEIGHT)


def _compute_tangent(axes: Axes, x: float, value: float, slope: float) -> list[tuple[float, float]]:
    """Return a line segment with this slope on these axes, 70 pixels long, without what is outside the axes."""
    (xa, ya), (xb, yb) = axes.place(x, value), axes.place(x + 1, value + slope)
    length = ((xb - xa) ** 2 + (yb - ya) ** 2) ** 0.5
    dx, dy = (xb - xa) * 35 / length, (yb - ya) * 35 / length
    before, after = min(1.0, (xa - axes.left) / dx), min(1.0, (axes.left + axes.width - xa) / dx)
    return [(xa - before * dx, ya - before * dy), (xa + after * dx, ya + after * dy)]


def _move_down(offset: float, *parts: str) -> str:
    return f"<g transform='translate(0 {offset:g})'>{''.join(parts)}</g>"
