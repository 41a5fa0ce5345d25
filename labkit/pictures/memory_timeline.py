"""Live bytes of several runs over time. The reader can emphasize one run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from labkit.pictures.chart import Line, draw_chart, fit_axes
from labkit.pictures.chart_table import build_value_table
from labkit.pictures.picture import ALL, Drawing, Group, NothingToDrawError, Picture, catch_failures


class MemoryRun(Protocol):
    """What `labkit.memory.watch` returns."""

    peak: int
    now: int
    timeline: list[int]
    marks: list[tuple[int, str]]


@catch_failures
def show_memory(runs: Mapping[str, MemoryRun]) -> Picture:
    """Draw the live bytes of each run, with a step for each storage made or freed."""
    if not runs:
        raise NothingToDrawError
    width = max(map(len, runs))
    words = [f"{name:{width}}  peak {run.peak:,} bytes, at the end {run.timeline[-1]:,}" for name, run in runs.items()]
    return Picture("\n".join(words), lambda: draw(runs, words))


def draw(runs: Mapping[str, MemoryRun], words: list[str]) -> Drawing:
    """Draw all runs, or one of them emphasized and the others pale."""
    choose = len(runs) > 1
    lines = [
        Line(
            name,
            [(float(i), nbytes / 1e6) for i, nbytes in enumerate(run.timeline)],
            [0, number] if choose else None,
            steps=True,
            marks=run.marks,
        )
        for number, (name, run) in enumerate(runs.items(), 1)
    ]
    axes = fit_axes(lines, "storages made and freed", "live MB", from_zero=True)
    parts, width, height = draw_chart(lines, axes)
    groups = [Group("run", [ALL, *runs])] if choose else []
    all_words = ["\n".join(words), *words][: 1 + choose * len(runs)]
    table = build_value_table(lines, axes.x_label)
    return Drawing("Live bytes over time", width, height, parts, groups, all_words, table=table)
