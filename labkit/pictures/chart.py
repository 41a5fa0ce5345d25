"""Lines over axes, with a legend, as parts of SVG."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from labkit.pictures.svg import (
    COLOURS,
    DASHES,
    GREY,
    draw_circle,
    draw_line,
    draw_path,
    draw_text,
    emphasize,
    measure_width,
    to_svg,
)

LEFT, TOP, BOTTOM = 62, 22, 40  # pixels around the axes
MAX_POINTS = 160  # of one line: more would not be visible


@dataclass
class Line:
    """A line of a chart."""

    label: str
    """What the legend says."""
    points: Sequence[tuple[float, float]]
    """x and y; values that aren't finite make a gap."""
    frames: Iterable[int] | None = None
    """The frames in which it is strong; None for all."""
    steps: bool = False
    """Whether it stays level until the next x."""
    marks: Sequence[tuple[int, str]] = ()
    """Indices of points, each with the words beside it."""
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
    width: float = 540
    height: float = 230
    left: float = LEFT
    x_ticks: Sequence[float] | None = None
    """None for round numbers."""

    def place(self, x: float, y: float) -> tuple[float, float]:
        (a, b), (low, high) = self.x, self.y
        up = math.log(y / low) / math.log(high / low) if self.log else (y - low) / (high - low)
        return self.left + self.width * (x - a) / (b - a), TOP + self.height * (1 - up)


def fit_axes(lines: Sequence[Line], x_label: str, y_label: str, log: bool = False, from_zero: bool = False) -> Axes:
    """Axes for all values that are finite, and positive if logarithmic. Raises ValueError if there are none."""
    kept = [(x, y) for one in lines for x, y in one.points if _is_drawable(y, log)]
    if not kept:
        return Axes(x_label, y_label, (0, 1), (0.1, 1) if log else (0, 1), log)
    xs, ys = [x for x, _ in kept], [y for _, y in kept]
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
    """The axes with their ticks and words."""
    left, right, base = axes.left, axes.left + axes.width, TOP + axes.height
    parts = []
    for value in list_powers(*axes.y) if axes.log else list_round_numbers(*axes.y):
        _, y = axes.place(axes.x[0], value)
        parts.append(draw_line(left, y, right, y, GREY, 0.6, "stroke-opacity='.45'"))
        if y_words:
            parts.append(draw_text(left - 6, y + 4, _format_tick(value), anchor="end", size=11))
    for value in (
        axes.x_ticks if axes.x_ticks is not None else list_round_numbers(*axes.x, most=max(2, int(axes.width / 65)))
    ):
        x, _ = axes.place(value, axes.y[1])
        parts += [
            draw_line(x, base, x, base + 4, GREY),
            draw_text(x, base + 16, f"{value:.4g}", anchor="middle", size=11),
        ]
    parts.append(f"<path d='M{to_svg(left)} {TOP}V{to_svg(base)}H{to_svg(right)}' fill='none' stroke='{GREY}'/>")
    parts.append(draw_text((left + right) / 2, base + 33, axes.x_label, anchor="middle", size=11))
    if y_words:
        parts.append(draw_text(4, TOP - 8, axes.y_label, size=11))
    return parts


def _format_tick(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


def draw_lines(axes: Axes, lines: Sequence[Line], named: bool = True) -> list[str]:
    """The lines, each with its own colour and dash, so lines on top of each other stay distinct.

    Args:
        named: Whether marks have their words beside them.
    """
    parts = []
    for place, one in enumerate(lines):
        colour, dash = choose_style(place)
        inside = []
        for run in _split_runs(one.points, axes.log):
            points = _select_corners([axes.place(x, y) for x, y in _thin_points(run)], one.dots)
            if one.steps:
                points = [p for a, b in itertools.pairwise(points) for p in (a, (b[0], a[1]))] + points[-1:]
            inside.append(draw_path(points, colour, 2, dash) if len(points) > 1 else "")
            if one.dots or len(points) == 1:
                inside += [draw_circle(x, y, 3, colour) for x, y in points]
        for index, words in one.marks:
            x, y = axes.place(*one.points[index])
            inside += [draw_circle(x, y, 4, colour), draw_text(x - 6, y - 6, words, colour, "end", 11) if named else ""]
        parts.append("".join(inside) if one.frames is None else emphasize(one.frames, *inside))
    return parts


def choose_style(place: int) -> tuple[str, str]:
    """The colour and dash of the line with this number."""
    return COLOURS[place % len(COLOURS)], DASHES[place % len(DASHES)]


def draw_legend(
    lines: Sequence[Line], left: float, y: float, width: float, dashed: bool = True
) -> tuple[list[str], float]:
    """A piece of each line with its label, in rows, and the lower edge of the rows."""
    parts, x = [], left
    for place, one in enumerate(lines):
        colour, dash = choose_style(place)
        room = 34 + measure_width(one.label, 11) + 12
        if x > left and x + room > left + width:
            x, y = left, y + 18
        inside = draw_path([(x, y - 4), (x + 28, y - 4)], colour, 2.4, dash if dashed else "") + draw_text(
            x + 34, y, one.label, size=11
        )
        parts.append(inside if one.frames is None else emphasize(one.frames, inside))
        x += room
    return parts, y + 8


def draw_chart(lines: Sequence[Line], axes: Axes) -> tuple[list[str], float, float]:
    """The parts, width and height of axes, lines and legend."""
    below, bottom = draw_legend(lines, axes.left, TOP + axes.height + BOTTOM + 14, axes.width)
    words = {words for one in lines for _, words in one.marks}
    alike = len(lines) > 1 and len(words) == 1  # then they appear once, below, instead of on the curves
    if alike:
        below += [
            draw_circle(axes.left + 14, bottom + 6, 4, "currentColor"),
            draw_text(axes.left + 34, bottom + 10, words.pop(), size=11),
        ]
        bottom += 18
    return [*draw_frame(axes), *draw_lines(axes, lines, not alike), *below], axes.left + axes.width + 16, bottom


def _split_runs(points: Sequence[tuple[float, float]], log: bool) -> list[list[tuple[float, float]]]:
    """The parts of a line between gaps."""
    runs: list[list[tuple[float, float]]] = [[]]
    for x, y in points:
        if _is_drawable(y, log):
            runs[-1].append((x, y))
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _thin_points(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most MAX_POINTS of the points: the least and the greatest of each stretch, in order."""
    if len(points) <= MAX_POINTS:
        return points
    size = math.ceil(2 * len(points) / MAX_POINTS)
    kept: list[tuple[float, float]] = []
    height: Callable[[tuple[float, float]], float] = lambda point: point[1]  # noqa: E731
    for start in range(0, len(points), size):
        stretch = points[start : start + size]
        kept += sorted({min(stretch, key=height), max(stretch, key=height)})
    return [points[0], *kept[1:-1], points[-1]]


def _select_corners(points: list[tuple[float, float]], keep: bool) -> list[tuple[float, float]]:
    """The points without those on the straight line between their neighbours.

    Args:
        keep: Whether to keep all.
    """
    if keep:
        return points
    found = points[:1]
    for (xb, yb), (xc, yc) in itertools.pairwise(points[1:]):
        (xa, ya), reach = found[-1], math.hypot(xc - found[-1][0], yc - found[-1][1]) or 1
        if abs((xb - xa) * (yc - ya) - (xc - xa) * (yb - ya)) / reach > 0.05:
            found.append((xb, yb))
    return found + points[1:][-1:]


def list_round_numbers(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between two numbers."""
    raw = (high - low) / most
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * n for n in (1, 2, 5, 10) if unit * n >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(n * step, 12) for n in range(first, last + 1)]


def list_powers(low: float, high: float) -> list[float]:
    """Powers of ten between two numbers, or 1, 2 and 5 times these if there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    found = [10.0**n for n in range(first, last + 1, max(1, (last - first) // 7)) if low <= 10.0**n <= high]
    if len(found) > 2:
        return found
    fine = [m * 10.0**n for n in range(first, last + 1) for m in (1, 2, 5) if low <= m * 10.0**n <= high]
    return fine if len(fine) > 1 else list_round_numbers(low, high)
