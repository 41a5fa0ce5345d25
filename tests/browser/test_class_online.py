"""A class on a hub, by what its people click: a lab from its release to its feedback."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ARTIFACTS, LAB, open_profile
from hub_pages import Student, Teacher, click_icons, log_in
from playwright.sync_api import Browser, Page, expect

from tests.hub.hub_process import RunningHub, release_lab, run_hub
from tests.hub.lti_platform import LtiPlatform, Person, run_platform
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ANA, PROF = Person("ana"), Person("prof", "Instructor")
INTERFACES = (pytest.param("lab", marks=pytest.mark.gate), pytest.param("notebook", marks=pytest.mark.nightly))


@pytest.fixture
def interface(request: pytest.FixtureRequest) -> str:
    """What the students work in."""
    return str(request.param)


@pytest.fixture
def hub(course: Path, interface: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    """A hub as `make hub` starts it, but for the interface."""
    settings = "" if interface == "lab" else f'interface = "{interface}"\n'
    with run_hub(course, tmp_path_factory.mktemp("online"), settings) as running:
        yield running


@pytest.fixture
def pages(browser: Browser) -> Iterator[tuple[Page, Page, Page]]:
    """The tabs of a teacher and of two students."""
    with open_profile(browser) as prof, open_profile(browser) as ana, open_profile(browser) as ben:
        yield prof, ana, ben


@pytest.mark.parametrize("interface", INTERFACES, indirect=True)
def test_a_lab_is_released_submitted_marked_read_and_returned(
    hub: RunningHub, interface: str, pages: tuple[Page, Page, Page]
) -> None:
    """Slow: a hub, two students' servers and kernels start, and a watch imports torch."""
    prof, ana, ben = pages
    log_in(prof, hub, "prof")
    teacher = Teacher(prof)
    formgrader = teacher.open_formgrader()
    click_icons(formgrader, "assign", "release")

    right, wrong = (Student(page, interface == "notebook") for page in (ana, ben))
    log_in(ana, hub, "ana")
    log_in(ben, hub, "ben")
    right.get_lab()
    wrong.get_lab()
    right.answer("(x * x).sum()", "Two numbers of one sign.", passes=True)
    wrong.answer("(x * x).mean()", "Because.", passes=False)
    right.submit_until_marked("4 of 5 points")
    wrong.submit_until_marked("2 of 5 points")
    right.expect_marks("4", "2")
    wrong.expect_marks("2", "0")
    for student, code in ((right, "x.mul(x).sum()"), (wrong, "x.mul(x).mean()")):
        student.write_code(code)  # the same answers wouldn't be graded again
        student.submit_until_marked("of 5 points")
        print(f"{interface}: {student.read_stopwatch():.1f} s from the click to the mark")
        student.screenshot(f"online_{interface}_marked")

    read_answers(teacher.open_desk())
    formgrader.reload()
    click_icons(formgrader, "generate-feedback", "release-feedback")
    for student, total, comment in ((right, "5", "Well said."), (wrong, "2", "Say why.")):
        page = student.open_feedback()
        expect(page.get_by_text(f"{total} of 5 points")).to_be_visible()
        expect(page.get_by_text(comment)).to_be_visible()
        student.return_to_lab()
        student.expect_marks(total, "2" if student is right else "0")
        student.screenshot(f"online_{interface}_returned")
    right.expect_on_home("5 of 5 points")
    wrong.expect_on_home("2 of 5 points")


def open_question(desk: Page) -> None:
    """Open the question's answers, and wait until the page's script has chosen one."""
    desk.get_by_role("link", name="why").click()
    expect(desk.locator("li.now")).to_have_count(1)


def read_answers(desk: Page) -> None:
    """Read both students' answers, and give marks and comments."""
    open_question(desk)
    desk.get_by_role("checkbox", name="Hide names").uncheck()
    panel = desk.locator("#panel")
    marks = {"ana": ("Two numbers of one sign.", "1", "Well said."), "ben": ("Because.", "0", "Say why.")}
    for student, (answer, points, comment) in marks.items():
        expect(desk.locator(f"li[data-student={student}]")).to_contain_text(answer)
        desk.locator(f"li[data-student={student}]").click()
        expect(desk.locator("#whose")).to_contain_text(student)
        panel.get_by_label("Points").fill(points)
        panel.get_by_label("Comment").fill(comment)
        panel.get_by_role("button", name="Save").click()
        expect(desk.locator(f"li[data-student={student}] .told")).to_have_text(f"{points} of 1")
    desk.screenshot(path=ARTIFACTS / "online_desk.png")


@pytest.fixture
def platform() -> Iterator[LtiPlatform]:
    with run_platform(ANA, PROF) as platform:
        yield platform


@pytest.fixture
def lti_hub(course: Path, platform: LtiPlatform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    with run_hub(course, tmp_path_factory.mktemp("lti"), platform.configure()) as running:
        platform.tool_keys = f"{running.url}/hub/lti13/jwks"
        yield running


@pytest.mark.nightly
def test_a_link_in_the_lms_leads_to_the_lab_and_its_score_back(
    lti_hub: RunningHub, platform: LtiPlatform, pages: tuple[Page, Page, Page]
) -> None:
    """Slow: a hub, a student's server and a kernel start, and a watch imports torch."""
    prof, ana, _ = pages
    release_lab(lti_hub.course, LAB)
    link = f"{lti_hub.url}/hub/user-redirect/gradlab/labs/{LAB}"
    prof.goto(platform.announce(lti_hub.url, link, PROF))  # this connects the course
    expect(prof.get_by_role("heading", name="Answers to read")).to_be_visible()

    ana.goto(platform.announce(lti_hub.url, link, ANA))
    ana.wait_for_url(re.compile(f"/user/ana/lab/tree/gradlab/{LAB}/{LAB}.ipynb"))
    student = Student(ana, has_tabs=False)
    student.start_stopwatch()
    student.answer("(x * x).sum()", "Two numbers of one sign.", passes=True)
    student.submit_until_marked("4 of 5 points")
    student.expect_marks("4", "2")
    wait_until(lambda: platform.scores, "the LMS has the score")
    ((column, score),) = platform.scores
    assert (platform.columns[column]["tag"], platform.columns[column]["scoreMaximum"]) == (LAB, 5)
    assert (score["userId"], score["scoreGiven"], score["gradingProgress"]) == (ANA.subject, 4, "PendingManual")

    desk = prof
    desk.reload()
    open_question(desk)
    desk.get_by_role("button", name="Name").click()
    expect(desk.locator("#whose")).to_contain_text("Ana Smith")  # from the roster
    desk.locator("#panel").get_by_label("Points").fill("1")
    desk.locator("#panel").get_by_role("button", name="Save").click()
    wait_until(lambda: platform.scores[-1][1]["scoreGiven"] == 5, "the LMS has the new score")
    assert platform.scores[-1][1]["gradingProgress"] == "FullyGraded"
