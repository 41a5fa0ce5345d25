"""Losses of several runs, step by step; in a live notebook one of them can be chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from labkit.pictures.choice import ALL, choice
from labkit.pictures.picture import Picture, never_fails, new_figure, png_of

COLOURS = ("#1f6fb2", "#c44e28", "#4a8f3c", "#7a5195", "#8a6d1d", "#3d3d3d")


@never_fails
def show_curves(runs: Mapping[str, Sequence[float]]) -> Picture:
    """Draw the losses of each run against its steps, on a logarithmic scale. A loss that is not finite is left out."""
    curves = {name: [float(loss) for loss in losses] for name, losses in runs.items()}
    if not any(curves.values()):
        raise ValueError("there is no run with a loss")
    width = max(map(len, curves))
    words = [f"{name:{width}}  first {c[0]:.4g}, last {c[-1]:.4g}" for name, c in curves.items() if c]
    return choice("\n".join(words), [ALL, *curves], lambda chosen: draw(curves, chosen))


def draw(curves: Mapping[str, Sequence[float]], chosen: str = ALL) -> bytes:
    """All runs in colour, or one of them and the others in grey."""
    figure = new_figure(7, 3.2)
    axes = figure.add_subplot()
    for number, (name, losses) in enumerate(curves.items()):
        pale = chosen not in (ALL, name)
        axes.plot(
            [loss if math.isfinite(loss) and loss > 0 else math.nan for loss in losses],
            color="#d0d0d0" if pale else COLOURS[number % len(COLOURS)],
            linewidth=1 if pale else 1.8,
            label=name,
            zorder=1 if pale else 2,
        )
    axes.set_yscale("log")
    axes.set_xlabel("step", fontsize=8)
    axes.set_ylabel("loss", fontsize=8)
    axes.tick_params(labelsize=8, which="both")
    axes.legend(fontsize=8)
    return png_of(figure)
