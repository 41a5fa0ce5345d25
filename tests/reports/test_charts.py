"""Charts of the reports have text for screen readers, and work for unusual classes."""

import re
import xml.etree.ElementTree as ET
from datetime import datetime, timedelta

import pytest

from autograder.reports.charts import (
    Chart,
    draw_exercises_chart,
    draw_labs_chart,
    draw_points_chart,
    draw_timeline_chart,
)
from autograder.reports.class_statistics import Spread

EVIL = "</svg><script>alert('1')</script>&"
MORNING = datetime(2027, 1, 31, 9, 30)


def read(chart: Chart) -> tuple[str, list[str]]:
    """The chart's words and tooltips. Checks that it has a title, is well formed, and draws nothing outside its frame."""
    svg = ET.fromstring(str(chart.svg))
    title, words = svg[0], svg[1]
    assert svg.get("role") == "img" and svg.get("aria-labelledby") == f"{title.get('id')} {words.get('id')}"
    _, _, width, height = (float(part) for part in str(svg.get("viewBox")).split())
    for rect in svg.iter("rect"):
        left, top, wide, tall = (float(rect.get(name, "nan")) for name in ("x", "y", "width", "height"))
        assert 0 <= left <= left + wide <= width and 0 <= top <= top + tall <= height
    for path in svg.iter("path"):
        numbers = [float(number) for number in re.findall(r"[-\d.]+", path.get("d", ""))]
        assert all(0 <= number <= width for number in numbers)
    assert title.text == chart.title
    return str(words.text), [str(tooltip.text) for group in svg.iter("g") for tooltip in group.findall("title")]


@pytest.mark.parametrize("points", [[0.0], [3.0] * 40, [0.0, 1.0, 2.5, 9.0]])
def test_each_bar_says_how_many_have_so_many_points(points: list[float]) -> None:
    words, tips = read(draw_points_chart(points, 4))
    assert sum(int(tip.rpartition(": ")[2]) for tip in tips) == len(points)
    assert words.startswith("Students by points. ")


def test_an_exercise_has_its_share_in_words_and_no_name_is_markup() -> None:
    words, tips = read(draw_exercises_chart([(EVIL, 0.25, 8), ("an_exercise_with_a_very_long_name", 1.0, 6)]))
    assert "an_exercise_with_a_very_long_name: 100%" in words and f"{EVIL}: 25%, 8 wrote it" in tips


def test_a_lab_has_the_numbers_of_its_box() -> None:
    _, tips = read(draw_labs_chart([("01", Spread(0.1, 0.2, 0.5, 0.75, 1.0, 0.55), 9)]))
    assert "01: least 10%, lower 20%, median 50%, upper 75%, most 100%, mean 55%; 9 students" in tips


@pytest.mark.parametrize("due", [None, MORNING, MORNING - timedelta(days=9), MORNING + timedelta(days=400)])
@pytest.mark.parametrize("span", [timedelta(0), timedelta(minutes=3), timedelta(hours=7), timedelta(days=800)])
@pytest.mark.parametrize("count", [1, 2, 3, 700])
def test_the_time_line_goes_from_the_first_to_the_last_and_to_when_it_is_due(
    due: datetime | None, span: timedelta, count: int
) -> None:
    times = [MORNING + span * n / max(1, count - 1) for n in range(count)]
    chart = draw_timeline_chart(times, due, first=True)
    words, tips = read(chart)
    assert f"From 2027-01-31 09:30 to {times[-1]:%Y-%m-%d %H:%M} UTC, {count} student" in words
    assert ("due" in "".join(tips)) == ("dashed" in words) == (due is not None)
    assert len(chart.svg) < 20_000
