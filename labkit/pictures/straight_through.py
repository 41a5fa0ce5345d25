"""A step forward, and the slope that its backward claims: one above the other, with a place to move."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from torch import Tensor

from labkit.pictures.chart import TOP, Axes, Line, draw_frame, draw_lines, fit_axes
from labkit.pictures.picture import Drawing, Group, Picture, catch_failures
from labkit.pictures.svg import INK, RED, draw_circle, draw_path, draw_text, show_only

POINTS, PLACES = 201, 17
HEIGHT, GAP = 150, 62  # pixels


@catch_failures
def show_straight_through(functions: Mapping[str, Callable[[Tensor], Tensor]], reach: float = 2.0) -> Picture:
    """Draw each function from -reach to reach, and below it the gradient that its backward gives.

    functions: label -> elementwise function of a tensor. The red line has the slope that backward claims at its place.
    """
    places = torch.linspace(-reach, reach, PLACES)
    found = {
        name: (_compute_both(f, torch.linspace(-reach, reach, POINTS)), _compute_both(f, places))
        for name, f in functions.items()
    }
    words = [
        f"{name}: at x = {x:.3g} the value is {value:.3g}, the gradient {slope:.3g}"
        for name, (_, at) in found.items()
        for x, value, slope in at
    ]
    summary = [
        f"{name}: values {_format_range(line, 1)}, gradients {_format_range(line, 2)}"
        for name, (line, _) in found.items()
    ]
    return Picture("\n".join(summary), lambda: _draw(found, [f"x = {x:.3g}" for x in places.tolist()], words))


def _compute_both(f: Callable[[Tensor], Tensor], x: Tensor) -> list[tuple[float, float, float]]:
    """x, f(x) and the gradient of the sum of f(x), for each number."""
    leaf = x.clone().requires_grad_()
    value = f(leaf)
    (slope,) = torch.autograd.grad(value.sum(), leaf) if value.requires_grad else (torch.zeros_like(x),)
    return list(zip(x.tolist(), value.detach().tolist(), slope.tolist(), strict=True))


def _format_range(line: list[tuple[float, float, float]], column: int) -> str:
    values = [one[column] for one in line]
    return f"from {min(values):.3g} to {max(values):.3g}"


def _draw(
    found: Mapping[str, tuple[list[tuple[float, float, float]], list[tuple[float, float, float]]]],
    places: list[str],
    words: list[str],
) -> Drawing:
    parts = []
    every = [(x, value, slope) for line, _ in found.values() for x, value, slope in line]
    above = _build_axes("forward: value", [(x, value) for x, value, _ in every])
    below = _build_axes("backward: gradient", [(x, slope) for x, _, slope in every])
    move = TOP + HEIGHT + GAP - 30
    for number, (line, at) in enumerate(found.values()):
        frames = range(number * len(places), (number + 1) * len(places))
        forward = draw_lines(above, [Line("", [(x, value) for x, value, _ in line])])
        backward = draw_lines(below, [Line("", [(x, slope) for x, _, slope in line])])
        parts.append(show_only(frames, *forward, _move_down(move, *backward)))
        for frame, (x, value, slope) in zip(frames, at, strict=True):
            here, there = above.place(x, value), below.place(x, slope)
            tangent = draw_path(_compute_tangent(above, x, value, slope), RED, 2)
            dots = draw_circle(*here, 4.5, RED) + _move_down(move, draw_circle(*there, 4.5, RED))
            parts.append(show_only([frame], tangent, dots, draw_text(4, 2 * move + 14, words[frame], INK)))
    axes = [*draw_frame(above), _move_down(move, *draw_frame(below))]
    groups = [Group("function", list(found)), Group("place", places, True)]
    # Most happens at the middle of the slider; the first frame is at the left.
    return Drawing("A step and its slope", above.left + above.width + 16, 2 * move + 24, [*axes, *parts], groups, words)


def _build_axes(label: str, points: list[tuple[float, float]]) -> Axes:
    return replace(fit_axes([Line("", points)], "x" if "back" in label else "", label), height=HEIGHT, width=420)


def _compute_tangent(axes: Axes, x: float, value: float, slope: float) -> list[tuple[float, float]]:
    """A piece of a line with this slope, as it looks on these axes: 70 pixels long."""
    (xa, ya), (xb, yb) = axes.place(x, value), axes.place(x + 1, value + slope)
    length = ((xb - xa) ** 2 + (yb - ya) ** 2) ** 0.5
    dx, dy = (xb - xa) * 35 / length, (yb - ya) * 35 / length
    return [(xa - dx, ya - dy), (xa + dx, ya + dy)]


def _move_down(move: float, *parts: str) -> str:
    return f"<g transform='translate(0 {move:g})'>{''.join(parts)}</g>"
