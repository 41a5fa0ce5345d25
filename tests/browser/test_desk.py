"""A person reads answers by keyboard alone, and what was given stands in nbgrader's tables."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from lab_server import LabServer, lab_server
from nbgrader.api import Gradebook
from playwright.sync_api import Page, expect

from tests.desk.answered_class import LAB, QUESTION, add_question, hand_in

pytestmark = [pytest.mark.browser, pytest.mark.slow]

READ = f"gradlab/desk/read/{LAB}/{LAB}/{QUESTION}"


@pytest.fixture(scope="module")
def desk(built_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """What `gradlab desk` starts."""
    course = Path(shutil.copytree(built_course, tmp_path_factory.mktemp("read") / "course"))
    add_question(course)
    hand_in(course)
    start = ("autograder.cli", "desk", "--course", str(course))
    with lab_server(course, tmp_path_factory.mktemp("home"), start=start, options=("--port", "18900")) as server:
        yield server


def opened(page: Page, desk: LabServer) -> list[str]:
    """What the page complained about, from now on."""
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(desk.address(READ))
    expect(page.locator("li.now")).to_have_count(1)
    return said


def rows(desk: LabServer) -> dict[str, tuple[float | None, bool, str | None]]:
    """student -> points by hand, whether it waits, comment by hand."""
    with Gradebook(f"sqlite:///{desk.folder}/gradebook.db") as gradebook:
        found = {}
        for submission in gradebook.assignment_submissions(LAB):
            student = submission.student_id
            grade = gradebook.find_grade(QUESTION, LAB, LAB, student)
            comment = gradebook.find_comment(QUESTION, LAB, LAB, student).manual_comment
            found[student] = (grade.manual_score, grade.needs_manual_grade, comment)
        return found


def faults(page: Page) -> list[str]:
    found: list[dict[str, Any]] = Axe().run(page).response["violations"]
    return [f"{fault['id']}: {fault['nodes'][0]['html']}" for fault in found]


def test_answers_are_read_by_keyboard_and_an_item_that_changes_takes_its_marks_along(
    page: Page, desk: LabServer
) -> None:
    """Slow: starts a Jupyter server, and nbgrader reads a lab into a new gradebook."""
    said = opened(page, desk)
    keys, panel, status = page.keyboard, page.locator("#panel"), page.locator("#said")
    reads = page.locator("#whose")

    keys.press("a")
    for text, points in (("right", "3"), ("no reason", "1")):
        keys.type(text)
        keys.press("Tab")
        keys.type(points)
        if text == "right":
            keys.press("Tab")  # its Delete
            keys.press("Tab")  # Add an item
            keys.press("Enter")
    keys.press("Control+Enter")
    expect(status).to_have_text("The items are saved.")
    expect(page.locator("#items button")).to_have_count(2)

    expect(reads).to_have_text("ada")
    keys.press("1")
    expect(panel.get_by_role("button", pressed=True)).to_contain_text("right")
    expect(panel.get_by_label("Points")).to_have_value("3")
    keys.press("Control+Enter")
    expect(reads).to_have_text("ben")
    keys.press("2")
    keys.press("c")
    keys.type("Say why: 2n times 2n is four times a square.")  # no letter of it is a key
    keys.press("Control+Enter")
    expect(reads).to_have_text("cleo")
    keys.press("2")
    keys.press("r")
    keys.press("Enter")
    expect(panel.get_by_label("Comment")).to_have_value("Say why: 2n times 2n is four times a square.")
    keys.press("Control+Enter")
    expect(reads).to_have_text("dan")
    keys.press("p")
    keys.type("0.5")
    keys.press("Control+Enter")
    expect(status).to_have_text("No other answer waits.")
    expect(page.locator("#count")).to_have_text("5 handed in, 0 wait")

    why = "Say why: 2n times 2n is four times a square."
    given = {"ada": (3, False, None), "ben": (1, False, why), "cleo": (1, False, why), "dan": (0.5, False, None)}
    assert {student: rows(desk)[student] for student in given} == given

    keys.press("Escape")
    keys.press("e")
    for _ in range(4):
        keys.press("Tab")
    keys.type("1.5")
    keys.press("Control+Enter")
    expect(status).to_have_text("This changes the marks of 2 students. Save the items again to do it.")
    assert rows(desk)["ben"] == (1, False, why)
    keys.press("Control+Enter")
    expect(status).to_have_text("The items are saved, and the marks that follow them.")
    given |= {student: (1.5, False, why) for student in ("ben", "cleo")}
    assert {student: rows(desk)[student] for student in given} == given
    expect(page.locator("li[data-student=ben] .told")).to_have_text("1.5 of 3")
    assert said == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "light")])
def test_every_state_of_the_page_is_accessible_and_fits(page: Page, desk: LabServer, width: int, scheme: Any) -> None:
    """Slow: the same server."""
    page.set_viewport_size({"width": width, "height": 740})
    page.emulate_media(color_scheme=scheme)
    page.goto(desk.address("gradlab/desk/"))
    assert faults(page) == []
    said = opened(page, desk)
    for state in ("reading", "items", "keys"):
        if state == "items":
            page.keyboard.press("a")
        if state == "keys":
            page.keyboard.press("Escape")
            page.keyboard.press("?")
            expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        assert faults(page) == [], state
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), state
    assert said == []


def test_what_is_not_saved_is_kept_and_said_and_another_instructors_mark_is_shown_first(
    page: Page, desk: LabServer
) -> None:
    """Slow: the same server."""
    opened(page, desk)
    page.get_by_label("Show").select_option("all")
    page.get_by_label("Hide names").check()
    eve, ada = page.locator("li[data-student=eve]"), page.locator("li[data-student=ada]")
    eve.locator("article").click()
    assert page.get_by_text("eve", exact=True).locator("visible=true").count() == 0
    expect(page.locator("#whose")).to_contain_text("Answer")
    page.get_by_label("Comment").fill("Where is it?")
    ada.locator("article").click()
    expect(eve.locator(".told")).to_have_text("not written, 0 of 3")
    assert eve.evaluate("e => e.classList.contains('draft')")
    eve.locator("article").click()
    expect(page.get_by_label("Comment")).to_have_value("Where is it?")

    with Gradebook(f"sqlite:///{desk.folder}/gradebook.db") as gradebook:
        grade = gradebook.find_grade(QUESTION, LAB, LAB, "eve")
        grade.manual_score = 0.75
        gradebook.db.commit()
    page.get_by_label("Points").fill("2")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#said")).to_have_text(
        "This answer was marked meanwhile. It has: 0.75 of 3. Save again to write over it."
    )
    assert rows(desk)["eve"] == (0.75, False, None)
    page.keyboard.press("Control+Enter")
    expect(eve.locator(".told")).to_have_text("2 of 3")
    assert rows(desk)["eve"] == (2, False, "Where is it?")

    page.get_by_label("Points").fill("1")
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.reload()
    assert asked == ["beforeunload"], "who leaves the page is asked first"
    assert page.get_by_label("Hide names").is_checked(), "remembered"


def test_one_mark_goes_to_all_who_wrote_the_same(page: Page, desk: LabServer) -> None:
    """Slow: the same server."""
    with Gradebook(f"sqlite:///{desk.folder}/gradebook.db") as gradebook:
        for student in ("cleo", "dan"):
            grade = gradebook.find_grade(QUESTION, LAB, LAB, student)
            grade.manual_score, grade.needs_manual_grade = None, True
        gradebook.db.commit()
    opened(page, desk)
    page.locator("li[data-student=cleo] article").click()
    page.get_by_label("Points").fill("0.25")
    page.get_by_role("button", name="Save for 2 with this text").click()
    expect(page.locator("li[data-student=dan] .told")).to_have_text("0.25 of 3")
    assert [rows(desk)[student][:2] for student in ("cleo", "dan")] == [(0.25, False)] * 2
