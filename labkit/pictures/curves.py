"""Losses of several runs over their steps. The reader can emphasize one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from labkit.pictures.chart import Line, draw_chart, fit_axes
from labkit.pictures.chart_table import build_value_table
from labkit.pictures.picture import ALL, Drawing, Group, NothingToDrawError, Picture, catch_failures


@catch_failures
def show_curves(runs: Mapping[str, Sequence[float]], x: str = "step", y: str = "loss") -> Picture:
    """Draw the losses of each run on a logarithmic scale. A value that isn't finite, or not above 0, makes a gap.

    Args:
        x: The label of the x axis, such as "step" or "epoch".
        y: The label of the values.
    """
    curves = {name: [float(loss) for loss in losses] for name, losses in runs.items()}
    if not any(curves.values()):
        raise NothingToDrawError
    width = max(map(len, curves))
    words = {name: f"{name:{width}}  first {c[0]:.4g}, last {c[-1]:.4g}" for name, c in curves.items() if c}
    return Picture("\n".join(words.values()), lambda: draw(curves, words, x, y))


def draw(curves: Mapping[str, Sequence[float]], words: Mapping[str, str], x: str, y: str) -> Drawing:
    """Draw all runs, or one of them emphasized and the others pale."""
    choose = len(curves) > 1
    lines = [
        Line(name, list(enumerate(losses)), [0, number] if choose else None)
        for number, (name, losses) in enumerate(curves.items(), 1)
    ]
    parts, width, height = draw_chart(lines, fit_axes(lines, x, y, log=True))
    all_words = ["\n".join(words.values()), *(words.get(name, f"{name}: nothing") for name in curves)]
    groups = [Group("run", [ALL, *curves])] if choose else []
    table = build_value_table(lines, x)
    shown_words = all_words if choose else all_words[:1]
    return Drawing(f"{y} against {x}", width, height, parts, groups, shown_words, table=table)
