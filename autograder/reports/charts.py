"""Pictures of a page: Vega-Lite, drawn as SVG by a script that lies in the page, in the page's own colours.

Colours are the page's CSS variables, so a theme or a printer changes them without a script.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import Any

import altair as alt
import vl_convert

from autograder.base.text import format_count
from autograder.reports.class_statistics import Spread, compute_bins

INK, LINE, MARK = "var(--ink)", "var(--line)", "var(--mark)"
MAKING = Lock()
GLOBALS = "window.vegaEmbed = vegaEmbed;"
BAR = 22  # pixels of a row
MAX_TIMES = 2000  # a longer line says no more


@dataclass(frozen=True)
class Chart:
    """words: what a screen reader says in its place; the numbers stand in a table of the page."""

    name: str
    title: str
    words: str
    spec: dict[str, Any]


def load_script() -> str:
    """Vega, Vega-Lite and Vega-Embed, about 0.9 MB. The first call takes a second, perhaps in a thread of its own."""
    with MAKING:
        return _build_script()


@functools.cache
def _build_script() -> str:
    return str(vl_convert.javascript_bundle(GLOBALS))


def draw_points_chart(points: Sequence[float], worth: float) -> Chart:
    """How many have how many points."""
    steps = compute_bins(points, worth)
    rows = [{"from": a, "to": b, "students": n, "range": f"{a:g} to {b:g} points"} for a, b, n in steps]
    height = max((n for _, _, n in steps), default=1)
    chart = (
        alt.Chart(alt.Data(values=rows), height=180)
        .mark_bar(color=MARK)
        .encode(
            x=alt.X("from:Q", bin=alt.Bin(binned=True), title="points", scale=alt.Scale(domain=[0, steps[-1][1]])),
            x2="to:Q",
            y=alt.Y("students:Q", title="students", axis=alt.Axis(tickMinStep=1, tickCount=min(height, 5))),
            tooltip=["range:N", "students:Q"],
        )
    )
    words = "; ".join(f"{row['range']}: {row['students']}" for row in rows if row["students"])
    return _finish_chart("points", "Distribution of points", f"Students by points. {words}.", chart)


def draw_exercises_chart(shares: Sequence[tuple[str, float, int]]) -> Chart:
    """(exercise, mean share of its points, how many wrote it), in the lab's order."""
    rows = [{"exercise": name, "share": share, "wrote": n} for name, share, n in shares]
    chart = (
        alt.Chart(alt.Data(values=rows), height=BAR * len(rows))
        .mark_bar(color=MARK)
        .encode(
            x=alt.X(
                "share:Q", title="mean share of the points", scale=alt.Scale(domain=[0, 1]), axis=_make_percent_axis()
            ),
            y=alt.Y("exercise:N", title=None, sort=None, axis=alt.Axis(labelLimit=160)),
            tooltip=["exercise:N", alt.Tooltip("share:Q", format=".0%"), alt.Tooltip("wrote:Q", title="wrote it")],
        )
    )
    words = "; ".join(f"{name}: {share:.0%}" for name, share, _ in shares)
    return _finish_chart(
        "exercises", "Mean share of points", f"Exercises by mean share of their points. {words}.", chart
    )


def draw_timeline_chart(times: Sequence[datetime], due: datetime | None, first: bool) -> Chart:
    """How many had handed in by when. times: sorted. first: whether they are each student's first, or the last one."""
    kept = list(range(0, len(times), max(1, len(times) // MAX_TIMES)))
    kept += [] if not times or kept[-1] == len(times) - 1 else [len(times) - 1]
    rows = [{"when": times[number].isoformat() + "Z", "students": number + 1} for number in kept]
    line = (
        alt.Chart(alt.Data(values=rows), height=180)
        .mark_line(interpolate="step-after", color=MARK, point=alt.OverlayMarkDef(color=MARK, size=12))
        .encode(
            x=alt.X(
                "when:T", title="UTC", scale=alt.Scale(type="utc"), axis=alt.Axis(format="%b %d %H:%M", tickCount=6)
            ),
            y=alt.Y("students:Q", title="handed in", axis=alt.Axis(tickMinStep=1), scale=alt.Scale(domainMin=0)),
            tooltip=[alt.Tooltip("when:T", format="%Y-%m-%d %H:%M"), "students:Q"],
        )
    )
    chart: Any = line
    words = f"From {times[0]:%Y-%m-%d %H:%M} to {times[-1]:%Y-%m-%d %H:%M} UTC, {format_count(len(times), 'student')}."
    if due:
        rule = alt.Chart(alt.Data(values=[{"when": due.isoformat() + "Z"}])).mark_rule(
            color=INK, strokeDash=[4, 3], size=1.5
        )
        chart = line + rule.encode(x="when:T", tooltip=alt.Tooltip("when:T", title="due", format="%Y-%m-%d %H:%M"))
        words += f" Due {due:%Y-%m-%d %H:%M}, the dashed line."
    which = "first" if first else "latest"
    return _finish_chart("timeline", f"Handed in, by each student's {which} submission", words, chart)


def draw_labs_chart(spreads: Sequence[tuple[str, Spread, int]]) -> Chart:
    """(lab, shares of its points as a box plot's numbers, how many)."""
    rows = [{"lab": name, "students": n, **vars(numbers)} for name, numbers, n in spreads]
    base = alt.Chart(alt.Data(values=rows), height=(BAR + 6) * len(rows))
    axis = alt.X("least:Q", title="share of the points", scale=alt.Scale(domain=[0, 1]), axis=_make_percent_axis())
    row = alt.Y("lab:N", title=None, sort=None, axis=alt.Axis(labelLimit=160))
    tips = [alt.Tooltip(f"{name}:Q", format=".0%") for name in vars(spreads[0][1])] if spreads else []
    tooltip = ["lab:N", *tips, "students:Q"]
    whole = base.mark_rule(color=INK).encode(x=axis, x2="most:Q", y=row, tooltip=tooltip)
    box = base.mark_bar(color=MARK, size=14).encode(x="lower:Q", x2="upper:Q", y=row, tooltip=tooltip)
    middle = base.mark_tick(color=INK, thickness=3, size=18).encode(x="median:Q", y=row, tooltip=tooltip)
    words = "; ".join(f"{name}: median {numbers.median:.0%}" for name, numbers, _ in spreads)
    return _finish_chart(
        "labs", "Share of points by lab", f"Box plots of the share of points. {words}.", whole + box + middle
    )


def _make_percent_axis() -> alt.Axis:
    return alt.Axis(format="%", tickCount=5)


def _finish_chart(name: str, title: str, words: str, chart: Any) -> Chart:
    whole = chart.properties(width="container", background="transparent").configure(
        font="system-ui, sans-serif",
        axis=alt.AxisConfig(
            labelColor=INK, titleColor=INK, titleFontWeight="normal", domainColor=LINE, tickColor=LINE, gridColor=LINE
        ),
        view=alt.ViewConfig(stroke=None),
        aria=True,
    )
    spec = whole.to_dict()
    return Chart(
        name, title, words, {**spec, "autosize": {"type": "fit-x", "contains": "padding"}, "description": words}
    )
