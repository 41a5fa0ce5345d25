"""Live bytes over time, of several runs; in a live notebook one of them can be chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from labkit.pictures.choice import ALL, choice
from labkit.pictures.curves import COLOURS
from labkit.pictures.picture import Picture, never_fails, new_figure, png_of


class Timed(Protocol):
    """What `labkit.memory.watch` gives."""

    peak: int
    now: int
    timeline: list[int]
    marks: list[tuple[int, str]]


@never_fails
def show_memory(runs: Mapping[str, Timed]) -> Picture:
    """Draw the live bytes of each run, one step for each storage that was made or freed."""
    if not runs:
        raise ValueError("there is no run")
    width = max(map(len, runs))
    words = [f"{name:{width}}  peak {run.peak:,} bytes, at the end {run.timeline[-1]:,}" for name, run in runs.items()]
    return choice("\n".join(words), [ALL, *runs], lambda chosen: draw(runs, chosen))


def draw(runs: Mapping[str, Timed], chosen: str = ALL) -> bytes:
    """All runs in colour, or one of them, with its marks, and the others in grey."""
    figure = new_figure(7, 3.2)
    axes = figure.add_subplot()
    for number, (name, run) in enumerate(runs.items()):
        pale = chosen not in (ALL, name)
        colour = "#d0d0d0" if pale else COLOURS[number % len(COLOURS)]
        values = [value / 1e6 for value in run.timeline]
        axes.step(range(len(values)), values, where="post", color=colour, label=name, zorder=1 if pale else 2)
        for place, text in [] if pale else run.marks:
            axes.plot([place], [values[place]], "o", color=colour, markersize=4)
            axes.annotate(
                text, (place, values[place]), fontsize=7, xytext=(-4, 4), ha="right", textcoords="offset points"
            )
    axes.set_xlabel("storages made and freed", fontsize=8)
    axes.set_ylabel("live MB", fontsize=8)
    axes.set_ylim(bottom=0)
    axes.tick_params(labelsize=8)
    axes.legend(fontsize=8)
    return png_of(figure)
