"""The report in a browser: pictures are drawn under its own policy, tables sort by keyboard, nothing is loaded."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from layout import find_broken_words
from playwright.sync_api import Page, expect

from autograder.gradebook.class_results import ClassResults, Column, Member
from autograder.model.marks import Mark
from autograder.model.notes import Note
from autograder.reports.lab_report import render_report
from labkit.outcome import Outcome

pytestmark = pytest.mark.browser
FAILED = Outcome("finite", "large logits stay finite", seen="nan", misconception="exp overflows", hidden=True)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A class of twelve, with everything that a page can show."""
    members = tuple(
        Member(
            f"student_{n}",
            has_submitted=True,
            graded=True,
            marks={f"exercise_{e}": Mark(float((n * (e + 1)) % 4)) for e in range(14)},
            submitted=datetime(2027, 1, 30) + timedelta(hours=n),
            seconds_late=600.0 if n == 11 else 0.0,
            answers={f"exercise_{e}": f"def exercise_{e}(x): return {n}" for e in range(14)},
            checks={"exercise_0": (FAILED,)} if n % 2 else {},
            notes=(Note(words="Something was put right."),),
            page=f"../feedback/student_{n}/x/x.html",
        )
        for n in range(12)
    )
    group = ClassResults("x", tuple(Column(f"exercise_{e}", 3) for e in range(14)), members, datetime(2027, 1, 30, 10))
    path = tmp_path / "x.html"
    path.write_text(render_report(group), encoding="utf-8")
    return path


def open_report(page: Page, path: Path, width: int, scheme: Any) -> list[str]:
    """Open the page, and return its messages and requests."""
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: None if request.url == path.as_uri() else messages.append(request.url))
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.goto(path.as_uri())
    expect(page.locator(".chart svg")).to_have_count(3)
    return messages


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (360, "dark")])
def test_pictures_are_drawn_nothing_is_loaded_and_nothing_is_cut_off(
    page: Page, report: Path, width: int, scheme: str
) -> None:
    assert open_report(page, report, width, scheme) == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    violations: list[dict[str, Any]] = Axe().run(page).response["violations"]
    assert not [f"{f['id']}: {f['nodes'][0]['html']}" for f in violations]


def test_a_table_sorts_by_its_whole_heads_with_mouse_and_keyboard_and_filters(page: Page, report: Path) -> None:
    open_report(page, report, 1200, "light")
    table = page.locator("#marks-table")
    head = table.locator("thead th").nth(1)
    head.get_by_role("button").focus()
    for order, sign in (("ascending", 1), ("descending", -1)):
        page.keyboard.press("Enter")
        expect(head).to_have_attribute("aria-sort", order)
        assert table.locator("thead th[aria-sort=ascending], thead th[aria-sort=descending]").count() == 1
        assert head.evaluate("head => getComputedStyle(head).outlineStyle") == "solid", "the focus moves"
        points = [float(text) for text in table.locator("tbody tr td:first-of-type").all_inner_texts()]
        assert points == sorted(points, key=lambda number: sign * number) and len(set(points)) > 2
    for corner in (True, False):  # far from the words
        box = head.bounding_box()
        assert box
        before = head.get_attribute("aria-sort")
        position = (
            (box["x"] + 2, box["y"] + 2) if corner else (box["x"] + box["width"] - 2, box["y"] + box["height"] - 2)
        )
        page.mouse.click(*position)
        assert head.get_attribute("aria-sort") != before
    page.get_by_label("Show students whose name contains").fill("_11")
    expect(table.locator("tbody tr:visible")).to_have_count(1)


@pytest.mark.parametrize("width", [1200, 360])
def test_heads_of_marks_are_whole_and_leave_no_gap_above_them(page: Page, tmp_path: Path, width: int) -> None:
    names = ("masked_scaled_dot_product_attention_with_dropout", "standardize_features_per_channel", "q")
    marks = dict.fromkeys(names, Mark(1.0))
    members = tuple(Member(f"student_{n}", has_submitted=True, graded=True, marks=marks) for n in range(3))
    path = tmp_path / "x.html"
    path.write_text(
        render_report(ClassResults("x", tuple(Column(name, 3) for name in names), members)), encoding="utf-8"
    )
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(path.as_uri())
    row = page.locator("#marks-table thead tr")
    box = row.bounding_box()
    assert box and box["height"] <= 160
    assert row.evaluate("row => [...row.cells].every((cell) => cell.scrollHeight <= cell.clientHeight + 1)")
    assert find_broken_words(page, "#marks-table thead") == []
