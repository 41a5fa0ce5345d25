"""The values of a chart as a table."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.pictures.chart import Line
from labkit.pictures.picture import Table

MAX_ROWS = 13


def build_value_table(lines: Sequence[Line], x_label: str) -> Table:
    """Tabulate the lines over x. Of many values of x, the first, the last and some between are listed."""
    values = [dict(one.points) for one in lines]
    xs = sorted({x for points in values for x in points})
    if len(xs) > MAX_ROWS:
        xs = [xs[round(n * (len(xs) - 1) / (MAX_ROWS - 1))] for n in range(MAX_ROWS)]
    rows = [[f"{x:.4g}", *(f"{points[x]:.4g}" if x in points else "" for points in values)] for x in xs]
    return Table("Values as a table", [[x_label, *(one.label for one in lines)], *rows])
