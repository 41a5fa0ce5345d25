"""Line charts with axes and a legend, as parts of SVG."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from labkit.pictures.palette import COLORS, DASHES, LINE
from labkit.pictures.picture import WIDTH
from labkit.pictures.svg import (
    SMALL,
    draw_circle,
    draw_line,
    draw_path,
    draw_text,
    emphasize_parts,
    measure_width,
    to_svg,
)

LEFT, TOP, BOTTOM = 62, 24, 42  # pixels around the axes
MAX_POINTS = 160  # of one line: more wouldn't be visible


@dataclass
class Line:
    """A line of a chart."""

    label: str
    points: Sequence[tuple[float, float]]
    """Pairs of x and y. A value that isn't finite makes a gap."""
    frames: Iterable[int] | None = None
    """The frames in which it's emphasized; None for all."""
    steps: bool = False
    """Whether it stays level until the next x."""
    marks: Sequence[tuple[int, str]] = ()
    """Indices of points, each with its words."""
    dots: bool = False


@dataclass
class Axes:
    """The axes of a chart."""

    x_label: str
    y_label: str
    x: tuple[float, float]
    y: tuple[float, float]
    log: bool = False
    """Whether y is logarithmic."""
    width: float = WIDTH - LEFT - 16
    height: float = 270
    left: float = LEFT
    x_ticks: Sequence[float] | None = None
    """None for round numbers."""

    def place(self, x: float, y: float) -> tuple[float, float]:
        (a, b), (low, high) = self.x, self.y
        up = math.log(y / low) / math.log(high / low) if self.log else (y - low) / (high - low)
        return self.left + self.width * (x - a) / (b - a), TOP + self.height * (1 - up)


def fit_axes(lines: Sequence[Line], x_label: str, y_label: str, log: bool = False, from_zero: bool = False) -> Axes:
    """Return axes that fit all drawable values: finite ones, and positive ones if logarithmic."""
    drawable = [(x, y) for one in lines for x, y in one.points if _is_drawable(y, log)]
    if not drawable:
        return Axes(x_label, y_label, (0, 1), (0.1, 1) if log else (0, 1), log)
    xs, ys = [x for x, _ in drawable], [y for _, y in drawable]
    low, high = (0.0 if from_zero else min(ys)), max(ys)
    if log:
        low, high = low / 1.15, high * 1.15
    else:
        room = (high - low or abs(high) or 1) * 0.05
        low, high = low - (0 if from_zero else room), high + room
    return Axes(x_label, y_label, (min(xs), max(xs) if max(xs) > min(xs) else min(xs) + 1), (low, high), log)


def _is_drawable(y: float, log: bool) -> bool:
    return math.isfinite(y) and (y > 0 or not log)


def draw_frame(axes: Axes, y_words: bool = True) -> list[str]:
    """Draw the axes with their ticks and words."""
    left, right, base = axes.left, axes.left + axes.width, TOP + axes.height
    parts = []
    for value in list_powers(*axes.y) if axes.log else list_round_numbers(*axes.y):
        _, y = axes.place(axes.x[0], value)
        parts.append(draw_line(left, y, right, y, LINE, 0.7, "stroke-opacity='.45'"))
        if y_words:
            parts.append(draw_text(left - 6, y + 4, _format_tick(value), anchor="end", size=SMALL))
    for value in (
        axes.x_ticks if axes.x_ticks is not None else list_round_numbers(*axes.x, most=max(2, int(axes.width / 65)))
    ):
        x, _ = axes.place(value, axes.y[1])
        parts += [
            draw_line(x, base, x, base + 4, LINE),
            draw_text(x, base + 16, f"{value:.4g}", anchor="middle", size=SMALL),
        ]
    parts.append(f"<path d='M{to_svg(left)} {TOP}V{to_svg(base)}H{to_svg(right)}' fill='none' stroke='{LINE}'/>")
    parts.append(draw_text((left + right) / 2, base + 34, axes.x_label, anchor="middle", size=SMALL))
    if y_words:
        parts.append(draw_text(4, TOP - 8, axes.y_label, size=SMALL))
    return parts


def _format_tick(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


def draw_lines(axes: Axes, lines: Sequence[Line], named: bool = True) -> list[str]:
    """Draw the lines, each with its own color and dash, so lines that overlap stay distinct.

    Args:
        named: Whether to show the words of marks.
    """
    parts = []
    for place, one in enumerate(lines):
        color, dash = choose_style(place)
        inside = []
        for run in _split_runs(one.points, axes.log):
            points = _select_corners([axes.place(x, y) for x, y in _thin_points(run)], one.dots)
            if one.steps:
                points = [p for a, b in itertools.pairwise(points) for p in (a, (b[0], a[1]))] + points[-1:]
            inside.append(draw_path(points, color, 2.2, dash) if len(points) > 1 else "")
            if one.dots or len(points) == 1:
                inside += [draw_circle(x, y, 3, color) for x, y in points]
        for index, words in one.marks:
            x, y = axes.place(*one.points[index])
            inside += [
                draw_circle(x, y, 4, color),
                draw_text(x - 6, y - 6, words, color, "end", SMALL) if named else "",
            ]
        parts.append("".join(inside) if one.frames is None else emphasize_parts(one.frames, *inside))
    return parts


def choose_style(place: int) -> tuple[str, str]:
    """Return the color and dash of the line with this number. A color that's used again has another dash."""
    return COLORS[place % len(COLORS)], DASHES[(place + place // len(COLORS)) % len(DASHES)]


def draw_legend(
    lines: Sequence[Line], left: float, y: float, width: float, dashed: bool = True
) -> tuple[list[str], float]:
    """Draw a piece of each line with its label, in rows. Return the parts and the lower edge."""
    parts, x = [], left
    for place, one in enumerate(lines):
        color, dash = choose_style(place)
        room = 34 + measure_width(one.label, SMALL) + 12
        if x > left and x + room > left + width:
            x, y = left, y + 18
        inside = draw_path([(x, y - 4), (x + 28, y - 4)], color, 2.4, dash if dashed else "") + draw_text(
            x + 34, y, one.label, size=SMALL
        )
        parts.append(inside if one.frames is None else emphasize_parts(one.frames, inside))
        x += room
    return parts, y + 8


def draw_chart(lines: Sequence[Line], axes: Axes) -> tuple[list[str], float, float]:
    """Draw axes, lines and legend. Return the parts, the width and the height."""
    below, bottom = draw_legend(lines, axes.left, TOP + axes.height + BOTTOM + 14, axes.width)
    words = {words for one in lines for _, words in one.marks}
    shared = len(lines) > 1 and len(words) == 1  # such words appear once below, not on each curve
    if shared:
        below += [
            draw_circle(axes.left + 14, bottom + 6, 4, "currentColor"),
            draw_text(axes.left + 34, bottom + 10, words.pop(), size=SMALL),
        ]
        bottom += 18
    return [*draw_frame(axes), *draw_lines(axes, lines, not shared), *below], axes.left + axes.width + 16, bottom


def _split_runs(points: Sequence[tuple[float, float]], log: bool) -> list[list[tuple[float, float]]]:
    """Split a line at its gaps."""
    runs: list[list[tuple[float, float]]] = [[]]
    for x, y in points:
        if _is_drawable(y, log):
            runs[-1].append((x, y))
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _thin_points(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Keep at most MAX_POINTS points: the least and the greatest of each stretch, in order."""
    if len(points) <= MAX_POINTS:
        return points
    size = math.ceil(2 * len(points) / MAX_POINTS)
    thinned: list[tuple[float, float]] = []
    height: Callable[[tuple[float, float]], float] = lambda point: point[1]  # noqa: E731
    for start in range(0, len(points), size):
        stretch = points[start : start + size]
        thinned += sorted({min(stretch, key=height), max(stretch, key=height)})
    return [points[0], *thinned[1:-1], points[-1]]


def _select_corners(points: list[tuple[float, float]], keep: bool) -> list[tuple[float, float]]:
    """Drop points on the straight line between their neighbors, unless `keep` is true."""
    if keep:
        return points
    corners = points[:1]
    for (xb, yb), (xc, yc) in itertools.pairwise(points[1:]):
        (xa, ya), reach = corners[-1], math.hypot(xc - corners[-1][0], yc - corners[-1][1]) or 1
        if abs((xb - xa) * (yc - ya) - (xc - xa) * (yb - ya)) / reach > 0.05:
            corners.append((xb, yb))
    return corners + points[1:][-1:]


def list_round_numbers(low: float, high: float, most: int = 6) -> list[float]:
    """List round numbers between two numbers."""
    raw = (high - low) / most
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * n for n in (1, 2, 5, 10) if unit * n >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(n * step, 12) for n in range(first, last + 1)]


def list_powers(low: float, high: float) -> list[float]:
    """List powers of ten between two numbers, or 1, 2 and 5 times these if there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    powers = [10.0**n for n in range(first, last + 1, max(1, (last - first) // 7)) if low <= 10.0**n <= high]
    if len(powers) > 2:
        return powers
    fine = [m * 10.0**n for n in range(first, last + 1) for m in (1, 2, 5) if low <= m * 10.0**n <= high]
    return fine if len(fine) > 1 else list_round_numbers(low, high)
