"""The traffic of two ways to add over ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from labkit.pictures.chart import Line, draw_chart, fit_axes
from labkit.pictures.chart_table import build_value_table
from labkit.pictures.picture import Drawing, Picture, catch_failures


@catch_failures
def show_traffic(world_sizes: Sequence[int]) -> Picture:
    """Draw what the busiest rank sends, in units of the whole tensor: in a ring, and if one rank collects."""
    ring = [2 * (n - 1) / n for n in world_sizes]
    gather = [float(n - 1) for n in world_sizes]
    rows = zip(world_sizes, ring, gather, strict=True)
    lines = [f"{n:3} ranks: ring {a:.3f}, one rank collects {b:.0f}" for n, a, b in rows]
    return Picture("\n".join(lines), lambda: draw_traffic(world_sizes, ring, gather))


def draw_traffic(world_sizes: Sequence[int], ring: list[float], gather: list[float]) -> Drawing:
    lines = [
        Line("ring", list(zip(map(float, world_sizes), ring, strict=True)), dots=True),
        Line("one rank collects and sends back", list(zip(map(float, world_sizes), gather, strict=True)), dots=True),
    ]
    axes = fit_axes(lines, "ranks", "sent by the busiest rank, in whole tensors", from_zero=True)
    parts, width, height = draw_chart(lines, replace(axes, x_ticks=list(world_sizes)))
    table = build_value_table(lines, axes.x_label)
    return Drawing("What the busiest rank sends", width, height, parts, table=table)
