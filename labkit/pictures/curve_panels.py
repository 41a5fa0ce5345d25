"""Curves over the same x, in panels side by side. The reader can choose one panel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from torch import Tensor

from labkit.pictures.chart import BOTTOM, LEFT, TOP, Axes, Line, draw_frame, draw_legend, draw_lines, fit_axes
from labkit.pictures.chart_table import build_value_table
from labkit.pictures.picture import ALL, WIDTH, Drawing, Group, NothingToDrawError, Picture, catch_failures
from labkit.pictures.svg import draw_text, show_only

GAP = 18  # pixels


@catch_failures
def show_over(x: Tensor, panels: Mapping[str, Mapping[str, Tensor]], log: bool = False) -> Picture:
    """Draw the curves of each panel over x, all panels on one scale.

    Values that aren't finite make gaps. What can't be drawn becomes a picture that says so in words.

    Args:
        x: The x values, of shape (n,).
        panels: Title of a panel -> label of a curve -> its values, of shape (n,).
        log: Whether the scale is logarithmic. Values of 0 or less make gaps there too.
    """
    places = [float(value) for value in x.detach()]
    curves_of = {
        t: {label: [float(v) for v in c.detach()] for label, c in curves.items()} for t, curves in panels.items()
    }
    for title, curves in curves_of.items():
        for label, values in curves.items():
            if len(values) != len(places):
                raise ValueError(f"{title}, {label}: {len(values)} values for {len(places)} values of x")
    if not any(curves_of.values()):
        raise NothingToDrawError
    width = max(len(label) for curves in curves_of.values() for label in curves)
    words = {
        title: [f"{title}: {label:{width}}  {describe_values(values)}" for label, values in curves.items()]
        for title, curves in curves_of.items()
    }
    return Picture(
        "\n".join(line for lines in words.values() for line in lines), lambda: draw(places, curves_of, log, words)
    )


def describe_values(values: list[float]) -> str:
    """Describe the least and the greatest finite value, and how many aren't finite."""
    finite = [value for value in values if math.isfinite(value)]
    text = f"from {min(finite):.3g} to {max(finite):.3g}" if finite else "no finite value"
    return text + (f", {len(values) - len(finite)} not finite" if len(finite) < len(values) else "")


def draw(
    places: list[float], panels: Mapping[str, Mapping[str, list[float]]], log: bool, words: Mapping[str, list[str]]
) -> Drawing:
    """Draw all panels side by side on one scale, or one of them larger."""
    lines_by_panel = {
        title: [Line(label, list(zip(places, values, strict=True))) for label, values in curves.items()]
        for title, curves in panels.items()
    }
    shared_axes = fit_axes([one for lines in lines_by_panel.values() for one in lines], "x", "", log)
    count = len(panels)
    width = (shared_axes.width - GAP * (count - 1)) / count
    small = []
    for number, (title, lines) in enumerate(lines_by_panel.items()):
        axes = replace(shared_axes, left=LEFT + (width + GAP) * number, width=width)
        small += _draw_panel(title, axes, lines, number == 0)
    parts = [show_only([0], *small) if count > 1 else "".join(small)]
    for number, (title, lines) in enumerate(lines_by_panel.items(), 1):
        if count > 1:
            parts.append(show_only([number], *_draw_panel(title, shared_axes, lines, True)))
    below, bottom = [], TOP + shared_axes.height + BOTTOM + 14
    shared = len({tuple(curves) for curves in panels.values()}) == 1
    for title, lines in list(lines_by_panel.items())[: 1 if shared else count]:
        entries = lines if shared else [replace(one, label=f"{title}: {one.label}") for one in lines]
        drawn_entries, bottom = draw_legend(entries, LEFT, bottom, shared_axes.width)
        below += drawn_entries
        bottom += 0 if shared else 10
    all_words = ["\n".join(line for lines in words.values() for line in lines), *("\n".join(w) for w in words.values())]
    groups = [Group("panel", [ALL, *panels])] if count > 1 else []
    shown_words = all_words if count > 1 else all_words[:1]
    named = [replace(one, label=f"{title}: {one.label}") for title, lines in lines_by_panel.items() for one in lines]
    table = build_value_table(named, "x")
    return Drawing("Curves over x", WIDTH, bottom, [*parts, *below], groups, shown_words, table=table)


def _draw_panel(title: str, axes: Axes, lines: list[Line], y_words: bool) -> list[str]:
    heading = draw_text(axes.left + axes.width / 2, TOP - 8, title, anchor="middle")
    return [*draw_frame(axes, y_words), *draw_lines(axes, lines), heading]
