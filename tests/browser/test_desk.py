"""A person marks answers with the keyboard only, and the marks are in nbgrader's tables."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from nbgrader.api import Gradebook
from playwright.sync_api import Page, Route, expect

from autograder.desk.rubric import Item, Rubric, make_id, write_rubric
from tests.desk.answered_class import CHECK, LAB, PLAIN, QUESTION, add_question, hand_in, hand_in_stock
from tests.lab_server import LabServer, run_lab_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]

READ = f"gradlab/desk/read/{LAB}/{LAB}/{QUESTION}"
WHY_PLAIN = f"gradlab/desk/read/{'/'.join(PLAIN)}/why"
LOOKS = [(1280, "light"), (1280, "dark"), (360, "light")]
CODE = "See:\n\n```python\nreturn [v * v for v in x if v is not None and isinstance(v, float) and isinstance(x, list)]\n```"
LONG = "A square is never negative. " * 1_500
WIDE = f"{'W' * 400}\n\n| a | b |\n|---|---|\n| {'W' * 300} | b |\n\n$$ {' + '.join(['x_1^2'] * 60)} $$"
CROWD = {
    **{f"s{number:02}": f"Answer {number}: a square is at least nought." for number in range(14)},
    **{"a_code": CODE, "a_long": LONG, "a_wide": WIDE, "a_blank": " \n", "a_stub": None},
    "a_hostile": "<div style='position:fixed;inset:0'>over</div><script>alert(1)</script> [x](javascript:alert(1))",
}


@pytest.fixture(scope="module")
def desk_server(built_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """The server of `gradlab desk`, below a base URL as on a JupyterHub."""
    for server in serve_desk(built_course, tmp_path_factory.mktemp("read"), has_answers=True):
        shutil.copy(server.folder / "gradebook.db", server.folder / "unread.db")
        yield server


@pytest.fixture
def desk(desk_server: LabServer) -> LabServer:
    """A desk whose answers are all unread."""
    shutil.copy(desk_server.folder / "unread.db", desk_server.folder / "gradebook.db")
    shutil.rmtree(desk_server.folder / "rubrics", ignore_errors=True)
    return desk_server


@pytest.fixture
def empty_desk(built_course: Path, tmp_path: Path) -> Iterator[LabServer]:
    """A desk before anything is graded."""
    yield from serve_desk(built_course, tmp_path, has_answers=False)


def serve_desk(built_course: Path, folder: Path, has_answers: bool) -> Iterator[LabServer]:
    course = Path(shutil.copytree(built_course, folder / "course"))
    add_question(course)
    if has_answers:
        hand_in(course)
        hand_in_stock(course)
    start = ("autograder.cli", "desk", "--course", str(course))
    (folder / "home").mkdir()
    options = ("--port", "18900", "--ServerApp.base_url=/user/grace/")
    with run_lab_server(course, folder / "home", start=start, options=options) as server:
        yield server


def open_desk_page(page: Page, desk: LabServer, address: str = READ, names: bool = True) -> list[str]:
    """Open the page, and return the list that its messages are added to."""
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    if names:
        page.add_init_script("localStorage.setItem('gradlab-desk-nameless', 'no')")
    page.goto(desk.address(address))
    expect(page.locator("li.now")).to_have_count(1)
    return messages


def read_rows(desk: LabServer) -> dict[str, tuple[float | None, bool, str | None]]:
    """student -> points by hand, whether it waits, comment by hand."""
    with Gradebook(f"sqlite:///{desk.folder}/gradebook.db") as gradebook:
        rows = {}
        for submission in gradebook.assignment_submissions(LAB):
            student = submission.student_id
            grade = gradebook.find_grade(QUESTION, LAB, LAB, student)
            comment = gradebook.find_comment(QUESTION, LAB, LAB, student).manual_comment
            rows[student] = (grade.manual_score, grade.needs_manual_grade, comment)
        return rows


def find_faults(page: Page) -> list[str]:
    """Faults for a screen reader or in a narrow window."""
    violations: list[dict[str, Any]] = Axe().run(page).response["violations"]
    wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return [f"{fault['id']}: {fault['nodes'][0]['html']}" for fault in violations] + ["too wide"] * wide


def test_answers_are_read_by_keyboard_and_an_item_that_changes_takes_its_marks_along(
    page: Page, desk: LabServer
) -> None:
    """Slow: starts a Jupyter server, and nbgrader reads a lab into a new gradebook."""
    messages = open_desk_page(page, desk)
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
    keys.type("Say why: 2n times 2n is four times a square.")  # none of its letters is a shortcut
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
    expect(status).to_have_text("No other answer is waiting.")
    expect(page.locator("#count")).to_have_text("5 submitted, 0 waiting")

    comment = "Say why: 2n times 2n is four times a square."
    marks = {
        "ada": (3, False, None),
        "ben": (1, False, comment),
        "cleo": (1, False, comment),
        "dan": (0.5, False, None),
    }
    assert {student: read_rows(desk)[student] for student in marks} == marks

    keys.press("Escape")
    keys.press("e")
    for _ in range(4):
        keys.press("Tab")
    keys.type("1.5")
    keys.press("Control+Enter")
    expect(status).to_have_text("This changes the marks of 2 students. Save the items again to confirm.")
    assert read_rows(desk)["ben"] == (1, False, comment)
    keys.press("Control+Enter")
    expect(status).to_have_text("The items are saved, and the marks are updated.")
    marks |= {student: (1.5, False, comment) for student in ("ben", "cleo")}
    assert {student: read_rows(desk)[student] for student in marks} == marks
    expect(page.locator("li[data-student=ben] .told")).to_have_text("1.5 of 3")
    assert messages == []


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_state_of_the_page_is_accessible_and_fits(page: Page, desk: LabServer, width: int, scheme: Any) -> None:
    """Slow: the same server."""
    page.set_viewport_size({"width": width, "height": 740})
    page.emulate_media(color_scheme=scheme)
    page.goto(desk.address("gradlab/desk/"))
    assert find_faults(page) == []
    messages = open_desk_page(page, desk, names=False)
    assert find_faults(page) == []
    page.keyboard.press("a")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("?")  # typed into a field, or ignored while items are edited
    assert find_faults(page) == [], "editing"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert find_faults(page) == [], "keys"
    for address in (WHY_PLAIN, READ.replace(QUESTION, CHECK)):
        page.goto(desk.address(address))
        expect(page.locator("li.now")).to_have_count(1)
        assert find_faults(page) == [], address
    assert messages == []


@pytest.mark.nightly
def test_a_class_that_wrote_anything_is_read_from_its_first_answer_to_its_last(
    page: Page, empty_desk: LabServer
) -> None:
    """Slow: starts a Jupyter server, and records a class."""
    page.goto(empty_desk.address("gradlab/desk/"))
    expect(page.get_by_text("Nothing is graded yet.")).to_be_visible()
    assert find_faults(page) == []
    hand_in(empty_desk.folder, CROWD)
    messages = open_desk_page(page, empty_desk, names=False)
    reads = page.locator("#whose")
    for width, scheme in LOOKS[1:]:
        page.set_viewport_size({"width": width, "height": 740})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert find_faults(page) == [], (width, scheme)
    expect(page.locator("li[data-student=a_blank]")).to_contain_text("(empty)")

    requests: list[str] = []
    page.on("request", lambda request: requests.append(f"{request.method} {request.url.rpartition('/')[2]}"))
    for number in range(1, 20):
        expect(page.locator("#count")).to_have_text(f"20 submitted, {20 - number} waiting")
        expect(page.locator("li.now")).to_be_in_viewport()
        page.keyboard.press("p")
        page.keyboard.type("2")
        page.keyboard.press("Control+Enter")
    expect(page.locator("#said")).to_have_text("No other answer is waiting.")
    assert requests == ["POST mark"] * 19, "one request for an answer"

    page.reload()
    expect(page.get_by_label("Show")).to_have_value("all")
    assert find_faults(page) == [], "finished"
    expect(reads).to_have_text("Answer 1")
    page.keyboard.press("j")
    expect(reads).to_have_text("Answer 2")
    page.keyboard.press("k")
    expect(reads).to_have_text("Answer 1")
    assert messages == []


def test_answers_are_read_without_names_until_one_is_asked_for(page: Page, desk: LabServer) -> None:
    """Slow: the same server."""
    open_desk_page(page, desk, names=False)
    page.get_by_label("Show").select_option("all")
    for student in ("ada", "ben", "cleo", "dan", "eve"):
        expect(page.get_by_text(student, exact=True)).not_to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#whose")).to_have_text("Answer 1")
    student = page.locator("li.now").get_attribute("data-student")
    assert student
    page.locator("li.now article").press("w")
    expect(page.locator("#whose")).to_have_text(student)
    expect(page.locator(".who:visible")).to_have_count(1)
    page.get_by_role("button", name="Name", pressed=True).click()
    expect(page.locator("#whose")).to_have_text("Answer 1")
    page.get_by_label("Hide names").uncheck()
    expect(page.locator(".who:visible")).to_have_count(5)
    page.reload()
    expect(page.locator(".who:visible")).not_to_have_count(0)


def test_an_unsaved_mark_is_kept_and_reported_and_another_instructors_mark_is_shown_first(
    page: Page, desk: LabServer
) -> None:
    """Slow: the same server."""
    open_desk_page(page, desk, names=False)
    page.get_by_label("Show").select_option("all")
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
        "Someone else marked this answer meanwhile. The mark is now: 0.75 of 3. Save again to overwrite it."
    )
    assert read_rows(desk)["eve"] == (0.75, False, None)
    page.keyboard.press("Control+Enter")
    expect(eve.locator(".told")).to_have_text("2 of 3")
    assert read_rows(desk)["eve"] == (2, False, "Where is it?")

    page.get_by_label("Points").fill("1")
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.type), dialog.accept()))
    page.reload()
    assert dialogs == ["beforeunload"], "leaving the page asks for confirmation"


def test_keys_that_are_pressed_while_a_mark_is_saved_are_the_next_answers(page: Page, desk: LabServer) -> None:
    """Slow: the same server."""
    items = tuple(Item(id=make_id(), text=text, points=points) for text, points in (("right", 3.0), ("no reason", 1.0)))
    write_rubric(desk.folder, LAB, QUESTION, Rubric(items=items))
    open_desk_page(page, desk)
    keys, reads, on_the_way = page.keyboard, page.locator("#whose"), list[Route]()
    page.route("**/mark", lambda route: on_the_way.append(route))
    expect(reads).to_have_text("ada")
    keys.press("Control+Enter")
    expect(page.locator("#said")).to_have_text("No points yet: type them, or choose an item.")
    for key in (
        "1",
        "Control+Enter",
        "2",
        "Control+Enter",
        "p",
        "0",
        ".",
        "5",
        "6",
        "Backspace",
        "Control+Enter",
        "w",
    ):
        keys.press(key)
    for student in ("ben", "cleo", "dan"):
        page.wait_for_function("document.querySelector('#panel.saving')")
        on_the_way.pop().continue_()
        expect(reads).to_have_text(student)
    assert [read_rows(desk)[student][0] for student in ("ada", "ben", "cleo")] == [3, 1, 0.5]

    with Gradebook(f"sqlite:///{desk.folder}/gradebook.db") as gradebook:
        gradebook.find_grade(QUESTION, LAB, LAB, "dan").manual_score = 0.75
        gradebook.db.commit()
    for key in ("1", "Control+Enter", "2", "Control+Enter"):
        keys.press(key)
    on_the_way.pop().continue_()
    expect(page.locator("#said")).to_contain_text("it had 0.75 of 3. Save again to overwrite it.")
    assert not on_the_way and read_rows(desk)["dan"][0] == 0.75, "they were not meant for this answer"


def test_two_instructors_reading_at_once_continue_with_answers_that_neither_has_read(
    page: Page, desk: LabServer
) -> None:
    """Slow: the same server."""
    open_desk_page(page, desk)
    page.locator("li[data-student=ada] article").click()
    other = page.context.new_page()
    open_desk_page(other, desk)
    for student in ("ben", "cleo"):
        other.locator(f"li[data-student={student}] article").click()
        if student == "ben":
            other.get_by_label("Points").fill("1")
            other.keyboard.press("Control+Enter")
            expect(other.locator("li[data-student=ben] .told")).to_have_text("1 of 3")
    other.get_by_label("Points").fill("2")  # and is not saved
    page.get_by_label("Points").fill("3")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#whose")).to_have_text("cleo")
    expect(page.locator("li[data-student=ben] .told")).to_have_text("1 of 3")
    page.get_by_label("Points").fill("1.5")
    page.keyboard.press("Control+Enter")
    expect(page.locator("li[data-student=cleo] .told")).to_have_text("1.5 of 3")
    other.keyboard.press("Control+Enter")
    expect(other.locator("#said")).to_contain_text(
        "Someone else marked this answer meanwhile. The mark is now: 1.5 of 3"
    )
    assert [read_rows(desk)[student][0] for student in ("ada", "ben", "cleo")] == [3, 1, 1.5]


def test_one_mark_goes_to_all_students_who_wrote_the_same(page: Page, desk: LabServer) -> None:
    """Slow: the same server."""
    open_desk_page(page, desk)
    page.locator("li[data-student=cleo] article").click()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#said")).to_have_text("No points yet: type them, or choose an item.")
    page.get_by_label("Comment").fill("Which square?")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#said")).to_have_text("Saved. Without points, this answer still waits.")
    assert read_rows(desk)["cleo"] == (None, True, "Which square?")
    page.get_by_label("Comment").fill("")
    page.get_by_label("Points").fill("0.25")
    page.get_by_role("button", name="Save for all 2 with this text").click()
    expect(page.locator("li[data-student=dan] .told")).to_have_text("0.25 of 3")
    assert [read_rows(desk)[student][:2] for student in ("cleo", "dan")] == [(0.25, False)] * 2
