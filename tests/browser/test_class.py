"""A student of a class presses Mark my work in JupyterLab, while an instructor's watch runs."""

import shutil
import signal
from pathlib import Path

import pytest
from conftest import ARTIFACTS
from playwright.sync_api import Page, expect

from autograder.model.term import TERM_FILE
from tests.classroom.processes import start_gradlab
from tests.lab_server import run_lab_server

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.nightly]

LAB = "01_squares"


def test_a_submission_gets_its_mark_and_one_beyond_the_attempts_gets_a_reason(
    small_course: Path, tmp_path_factory: pytest.TempPathFactory, page: Page
) -> None:
    """Nightly: starts JupyterLab, a watch, and nbgrader twice. By day tests/labext/test_class_submission.py submits."""
    student_folder, exchange = tmp_path_factory.mktemp("student"), tmp_path_factory.mktemp("exchange")
    for folder in ("inbound", f"outbound/{LAB}"):
        (exchange / "gradlab" / folder).mkdir(parents=True)
    for folder in (exchange, exchange / "gradlab" / "inbound"):
        folder.chmod(0o777)
    shutil.copytree(small_course / "release" / LAB, student_folder / LAB)
    shutil.copytree(small_course / "release" / LAB, exchange / "gradlab" / "outbound" / LAB, dirs_exist_ok=True)
    shared = f'\nc.CourseDirectory.course_id = "gradlab"\nc.Exchange.root = "{exchange}"\n'
    with (small_course / "nbgrader_config.py").open("a") as config:
        config.write(shared)
    cache = f'c.Exchange.cache = "{tmp_path_factory.mktemp("cache")}"\n'
    (student_folder / "nbgrader_config.py").write_text(f"c = get_config(){shared}{cache}")
    (small_course / TERM_FILE).write_text(f'[labs.{LAB}]\nattempts = 1\ntell = "visible"\n')

    watching = start_gradlab(small_course, "watch")
    try:
        with run_lab_server(student_folder, tmp_path_factory.mktemp("home"), course=True) as server:
            page.goto(server.address(f"lab/tree/{LAB}/{LAB}.ipynb"))
            expect(page.locator("#jp-main-statusbar").get_by_text("| Idle")).to_be_visible()
            hand_in(page)
            expect(page.get_by_text("and marked: 0 of 0.5 points without hidden checks").first).to_be_visible()
            mark_page = page.frame_locator("iframe")
            expect(mark_page.get_by_text("Attempt 1 of 1. No more are marked")).to_be_visible()
            page.screenshot(path=ARTIFACTS / "class_marked.png")
            page.get_by_role("tab", name=f"{LAB}.ipynb").click()
            hand_in(page)
            expect(page.get_by_text("Submitted. Not marked: the only attempt is used up.").first).to_be_visible()
            page.screenshot(path=ARTIFACTS / "class_not_marked.png")
    finally:
        watching.send_signal(signal.SIGINT)
        watch_output = watching.communicate()[0]
    assert "not marked, the only attempt is used up" in watch_output and "1 submission marked" in watch_output


def hand_in(page: Page) -> None:
    page.locator('[data-command="gradlab:mark"]').click()
    page.get_by_role("button", name="Submit").click()
