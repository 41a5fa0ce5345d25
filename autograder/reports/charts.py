"""Charts as SVG within a page, in the page's own colors.

Colors are the page's CSS variables, so a theme or a printer changes them without a script. Bars and boxes have
tooltips; a screen reader gets the numbers as a sentence, and most of them are also in a table on the page.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from markupsafe import Markup

from autograder.base.text import format_count
from autograder.model.term import format_minute
from autograder.reports.class_statistics import Spread, compute_bins
from labkit.pictures.chart import BOTTOM, LEFT, TOP, Axes, draw_frame
from labkit.pictures.palette import INK
from labkit.pictures.svg import draw_line, draw_path, draw_rect, draw_text, escape_text, to_svg

MARK, LINE = "var(--gl-accent)", "var(--gl-line)"
WIDTH, NAMES = 640, 170  # pixels of a chart, and of the names on its left
BAR, GAP = 16, 8  # pixels of a row, and between two rows
MAX_NAME = 24  # characters
MAX_TIMES = 200  # more points wouldn't be visible
STEPS = [timedelta(hours=hours) for hours in (1, 3, 6, 12, 24, 48, 168, 336, 672, 2016, 4032, 8064)]


@dataclass(frozen=True)
class Chart:
    name: str
    """The section that the chart belongs to; ids of its parts contain it."""
    title: str
    svg: Markup
    """The chart, with its numbers as words for a screen reader."""


def draw_points_chart(points: Sequence[float], worth: float) -> Chart:
    """Draw how many students have how many points."""
    bins = compute_bins(points, worth)
    highest = max(n for _, _, n in bins)
    axes = Axes("points", "students", (0, bins[-1][1]), (0, max(6, highest)), width=WIDTH - LEFT - 16, height=180)
    parts = draw_frame(axes)
    for low, high, n in bins:
        (left, top), (right, base) = axes.place(low, n), axes.place(high, 0)
        parts.append(
            _label(f"{low:g} to {high:g} points: {n}", draw_rect(left + 1, top, right - left - 2, base - top, MARK))
        )
    words = "; ".join(f"{low:g} to {high:g} points: {n}" for low, high, n in bins if n)
    return _build_chart(
        "points", "Distribution of points", f"Students by points. {words}.", parts, TOP + axes.height + BOTTOM
    )


def draw_exercises_chart(shares: Sequence[tuple[str, float, int]]) -> Chart:
    """Draw the mean share of points of each exercise.

    Args:
        shares: Exercise, mean share of its points and how many wrote it, in the lab's order.
    """
    parts, height = _draw_rows([name for name, _, _ in shares], "mean share of the points")
    for row, (name, share, wrote) in enumerate(shares):
        bar = draw_rect(NAMES, _place_row(row), _place_share(share) - NAMES, BAR, MARK)
        parts.append(_label(f"{name}: {share:.0%}, {wrote} wrote it", bar))
    words = "; ".join(f"{name}: {share:.0%}" for name, share, _ in shares)
    return _build_chart(
        "exercises", "Mean share of points", f"Exercises by mean share of their points. {words}.", parts, height
    )


def draw_timeline_chart(times: Sequence[datetime], due: datetime | None, first: bool) -> Chart:
    """Draw how many students had submitted at each time.

    Args:
        times: Sorted times of submissions.
        due: When the lab is due.
        first: Whether the times are those of each student's first submission instead of the last.
    """
    counts = list(enumerate(times, start=1))
    drawn = counts[:: max(1, len(times) // MAX_TIMES)]
    drawn += [] if drawn[-1] == counts[-1] else counts[-1:]
    begin, end = min(times[0], due or times[0]), max(times[-1], due or times[-1])
    if begin == end:
        begin, end = begin - STEPS[0], end + STEPS[0]
    span = (_convert_to_seconds(begin), _convert_to_seconds(end))
    axes = Axes("UTC", "submitted", span, (0, max(6, len(times))), width=WIDTH - LEFT - 40, height=180, x_ticks=())
    parts = draw_frame(axes)
    for time in _list_round_times(begin, end):
        x, base = axes.place(_convert_to_seconds(time), 0)
        parts.append(draw_line(x, base, x, base + 4, LINE))
        parts.append(draw_text(x, base + 16, f"{time:%b %d %H:%M}", anchor="middle", size=11))
    corners = [axes.place(_convert_to_seconds(time), n) for n, time in drawn]
    corners = [corners[0], *(p for a, b in itertools.pairwise(corners) for p in ((b[0], a[1]), b))]
    first_x, base = corners[0][0], axes.place(span[0], 0)[1]
    parts.append(draw_path([(first_x, base), *corners], MARK, 2))
    words = f"From {format_minute(times[0])} to {format_minute(times[-1])} UTC, {format_count(len(times), 'student')}."
    if due:
        x, _ = axes.place(_convert_to_seconds(due), 0)
        rule = draw_line(x, TOP, x, base, INK, 1.5, "stroke-dasharray='4 3'")
        parts.append(_label(f"due {format_minute(due)} UTC", rule))
        words += f" Due {format_minute(due)}, the dashed line."
    title = f"Submitted, by each student's {'first' if first else 'latest'} submission"
    return _build_chart("timeline", title, words, parts, TOP + axes.height + BOTTOM)


def draw_labs_chart(spreads: Sequence[tuple[str, Spread, int]]) -> Chart:
    """Draw a box plot of each lab.

    Args:
        spreads: Lab, the spread of students' shares of its points, and the number of students.
    """
    parts, height = _draw_rows([name for name, _, _ in spreads], "share of the points")
    for row, (name, numbers, students) in enumerate(spreads):
        top, middle = _place_row(row), _place_row(row) + BAR / 2
        least, lower, median, upper, most = map(
            _place_share, (numbers.least, numbers.lower, numbers.median, numbers.upper, numbers.most)
        )
        box = [
            draw_line(least, middle, most, middle, INK),
            draw_rect(lower, top, upper - lower, BAR, MARK),
            draw_line(median, top - 2, median, top + BAR + 2, INK, 3),
        ]
        summary = ", ".join(f"{name} {share:.0%}" for name, share in vars(numbers).items())
        parts.append(_label(f"{name}: {summary}; {format_count(students, 'student')}", *box))
    words = "; ".join(f"{name}: median {numbers.median:.0%}" for name, numbers, _ in spreads)
    return _build_chart("labs", "Share of points by lab", f"Box plots of the share of points. {words}.", parts, height)


def _draw_rows(names: Sequence[str], label: str) -> tuple[list[str], float]:
    """Draw names on the left, and shares from 0 to 100 % below. Returns the parts and the height."""
    base = _place_row(len(names))
    parts = []
    for percent in range(0, 101, 20):
        x = _place_share(percent / 100)
        parts.append(draw_line(x, TOP - 8, x, base, LINE))
        parts.append(draw_text(x, base + 14, f"{percent} %", anchor="middle", size=11))
    parts.append(draw_text(_place_share(0.5), base + 31, label, anchor="middle", size=11))
    for row, name in enumerate(names):
        short = name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"
        parts.append(_label(name, draw_text(NAMES - 8, _place_row(row) + BAR - 4, short, anchor="end")))
    return parts, base + BOTTOM


def _place_row(row: int) -> float:
    return TOP + row * (BAR + GAP)


def _place_share(share: float) -> float:
    return NAMES + (WIDTH - NAMES - 20) * min(share, 1.0)


def _convert_to_seconds(time: datetime) -> float:
    return time.replace(tzinfo=UTC).timestamp()


def _list_round_times(begin: datetime, end: datetime, max_steps: int = 5) -> list[datetime]:
    """Return whole hours, days or weeks between these times."""
    step = next((step for step in STEPS if (end - begin) / step <= max_steps), end - begin)
    start = datetime(begin.year, begin.month, begin.day)
    times = itertools.takewhile(lambda time: time <= end, (start + step * n for n in itertools.count()))
    return [time for time in times if time >= begin]


def _label(words: str, *parts: str) -> str:
    """Give the parts a tooltip."""
    return f"<g><title>{escape_text(words)}</title>{''.join(parts)}</g>"


def _build_chart(name: str, title: str, words: str, parts: Sequence[str], height: float) -> Chart:
    return Chart(
        name,
        title,
        Markup(
            f"<svg viewBox='0 0 {WIDTH} {to_svg(height)}' role='img' aria-labelledby='{name}-title {name}-words' "
            f"fill='currentColor' font-size='12'><title id='{name}-title'>{escape_text(title)}</title>"
            f"<desc id='{name}-words'>{escape_text(words)}</desc>{''.join(parts)}</svg>"
        ),
    )
