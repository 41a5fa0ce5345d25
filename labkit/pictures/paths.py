"""Paths of optimizers on a surface over two numbers, step by step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch.optim import Optimizer

from labkit.pictures.chart import TOP, Axes, Line, choose_style, draw_frame, draw_legend
from labkit.pictures.palette import LINE
from labkit.pictures.picture import Drawing, Group, Picture, Table, catch_failures
from labkit.pictures.svg import tag_element, to_svg

GRID, LEVELS = (36, 26), 6
Point = tuple[float, float]
Range = tuple[float, float]


@catch_failures
def show_paths(
    f: Callable[[Tensor, Tensor], Tensor],
    start: Point,
    optimizers: Mapping[str, Callable[[Sequence[Tensor]], Optimizer]],
    steps: int,
    x: Range,
    y: Range,
) -> Picture:
    """Draw the contour lines of f over x and y, and the path of each optimizer from `start`.

    The optimizers run when this is called.

    Args:
        f: An elementwise function of two tensors of one shape.
        optimizers: Label -> function that makes an optimizer for a list of parameters.
    """
    paths = {name: _walk(f, start, make, steps) for name, make in optimizers.items()}
    ends = {name: f(*map(torch.tensor, one[-1])).item() for name, one in paths.items()}
    width = max(map(len, paths))
    words = [f"start: {start}, value {f(*map(torch.tensor, start)).item():.4g}"]
    for name, one in paths.items():
        words.append(
            f"{name:{width}}  after {steps} steps ({one[-1][0]:.3g}, {one[-1][1]:.3g}), value {ends[name]:.4g}"
        )
    values = f(*torch.meshgrid(torch.linspace(*x, GRID[0]), torch.linspace(*y, GRID[1]), indexing="xy")).tolist()
    return Picture("\n".join(words), lambda: _draw(values, paths, steps, Axes("", "", x, y, height=400), words))


def _walk(
    f: Callable[[Tensor, Tensor], Tensor], start: Point, make: Callable[[Sequence[Tensor]], Optimizer], steps: int
) -> list[Point]:
    a, b = (torch.tensor(float(value), requires_grad=True) for value in start)
    optimizer = make([a, b])
    points = [(a.item(), b.item())]
    for _ in range(steps):
        optimizer.zero_grad()
        f(a, b).backward()
        optimizer.step()
        points.append((a.item(), b.item()))
    return points


def _draw(
    values: list[list[float]], paths: Mapping[str, list[Point]], steps: int, axes: Axes, words: list[str]
) -> Drawing:
    """Draw contour lines of the surface, and each optimizer's path in its own color. A frame shows one step or all."""
    parts = draw_frame(axes)
    finite = sorted(value for row in values for value in row)
    # Levels by rank, with the same number of grid points between any two, so flat valleys show lines too.
    for level in range(1, LEVELS + 1):
        segments = _draw_contour(values, finite[level * len(finite) // (LEVELS + 1)], axes)
        parts.append(f"<path d='{segments}' fill='none' stroke='{LINE}' stroke-opacity='.7'/>")
    (low, high), (bottom, top) = axes.x, axes.y
    for place, points in enumerate(paths.values()):
        color, _ = choose_style(place)
        inside = [math.isfinite(a + b) and low <= a <= high and bottom <= b <= top for a, b in points]
        positions = [axes.place(*point) for point in points]
        pieces = [
            tag_element(
                "only",
                f"0 {n}-{steps}",
                f"<path d='M{_format_point(positions[n - 1])}L{_format_point(positions[n])}'/>",
            )
            for n in range(1, steps + 1)
            if inside[n - 1] and inside[n]
        ]
        dots = [_draw_dot(n, x, y, last=n == steps) for n, (x, y) in enumerate(positions) if n and inside[n]]
        parts.append(f"<g fill='none' stroke='{color}' stroke-width='2.2'>{''.join(pieces)}</g>")
        parts.append(f"<g fill='{color}'>{''.join(dots)}</g>")
    lines = [Line(name, []) for name in paths]
    below, height = draw_legend(lines, axes.left, TOP + axes.height + 40, axes.width, dashed=False)
    names = ["all steps", *(f"step {n}" for n in range(1, steps + 1))]
    all_words = ["\n".join(words)] + [
        f"step {n}: " + ", ".join(f"{name} at ({p[n][0]:.3g}, {p[n][1]:.3g})" for name, p in paths.items())
        for n in range(1, steps + 1)
    ]
    rows = [[str(n), *(f"{p[n][0]:.3g}, {p[n][1]:.3g}" for p in paths.values())] for n in range(steps + 1)]
    return Drawing(
        "Paths of optimizers",
        axes.left + axes.width + 16,
        height,
        [*parts, *below],
        [Group("step", names, True)],
        all_words,
        caption=True,
        table=Table("Positions as a table", [["step", *paths], *rows]),
    )


def _draw_dot(frame: int, x: float, y: float, last: bool) -> str:
    """Draw a dot where the path is in this frame. The last dot is also in the first frame, which shows all steps."""
    frames = f"data-only='0 {frame}'" if last else f"data-only='{frame}' display='none'"
    return f"<circle {frames} cx='{to_svg(x)}' cy='{to_svg(y)}' r='6'/>"


def _format_point(point: Point) -> str:
    return f"{to_svg(point[0])} {to_svg(point[1])}"


def _draw_contour(values: list[list[float]], level: float, axes: Axes) -> str:
    """Draw one contour line as segments, one for each square of the grid that it crosses."""
    rows, columns = len(values), len(values[0])
    (x0, x1), (y0, y1) = axes.x, axes.y

    def find_crossing(a: tuple[int, int], b: tuple[int, int]) -> Point | None:
        va, vb = values[a[0]][a[1]] - level, values[b[0]][b[1]] - level
        if (va < 0) == (vb < 0):
            return None
        part = va / (va - vb)
        row, column = a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1])
        return axes.place(x0 + (x1 - x0) * column / (columns - 1), y0 + (y1 - y0) * row / (rows - 1))

    pieces = []
    for r in range(rows - 1):
        for c in range(columns - 1):
            corners = [(r, c), (r, c + 1), (r + 1, c + 1), (r + 1, c)]
            crossings = [find_crossing(corners[i], corners[(i + 1) % 4]) for i in range(4)]
            ends = [point for point in crossings if point is not None]
            for a, b in zip(ends[::2], ends[1::2], strict=True):
                xa, ya, xb, yb = map(round, (*a, *b))
                pieces.append(f"M{xa} {ya}l{xb - xa} {yb - ya}".replace(" -", "-"))
    return "".join(pieces)
