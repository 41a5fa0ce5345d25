"""A student of a class presses Mark my work in JupyterLab, while an instructor's watch runs."""

import html
import json
import re
import shutil
import signal
from pathlib import Path

import pytest
from conftest import ARTIFACTS, write
from playwright.sync_api import Page, expect

from autograder.model.term import TERM_FILE
from labkit.notebook_progress import digest_sources
from tests.classroom.processes import start_gradlab
from tests.lab_server import run_lab_server

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.nightly]

LAB = "01_squares"
NEXT_LAB = "02_cubes"


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
    offer_next_lab(exchange / "gradlab" / "outbound")
    shared = f'\nc.CourseDirectory.course_id = "gradlab"\nc.Exchange.root = "{exchange}"\n'
    with (small_course / "nbgrader_config.py").open("a") as config:
        config.write(shared)
    cache = f'c.Exchange.cache = "{tmp_path_factory.mktemp("cache")}"\n'
    (student_folder / "nbgrader_config.py").write_text(f"c = get_config(){shared}{cache}")
    (small_course / TERM_FILE).write_text(f'[labs.{LAB}]\nattempts = 1\ntell = "visible"\n')

    watching = start_gradlab(small_course, "watch")
    try:
        with run_lab_server(student_folder, tmp_path_factory.mktemp("home"), course=True) as server:
            page.set_viewport_size({"width": 1800, "height": 1000})  # with room for the page next to the notebook
            page.goto(server.address(f"lab/tree/{LAB}/{LAB}.ipynb"))
            expect(page.locator("#jp-main-statusbar").get_by_text("| Idle")).to_be_visible()
            panel = page.get_by_role("region", name="Course")
            next_step = panel.locator(".gradlab-continue")
            expect(next_step).to_contain_text("Begin: Squares")
            write(page, "def sum_of_squares", "return (x * x).sum()")
            page.get_by_role("button", name="Check", exact=True).click()
            expect(next_step).to_contain_text("Mark my work in Squares")
            hand_in(page)
            expect(page.get_by_text("and marked: 0.5 of 0.5 points without hidden checks").first).to_be_visible()
            mark_page = page.frame_locator("iframe")
            expect(mark_page.get_by_text("Attempt 1 of 1. No further attempts will be marked")).to_be_visible()
            # What is submitted isn't to be marked again: the panel leads on.
            expect(panel).to_contain_text("Lab 1 is submitted")
            expect(panel).not_to_contain_text("ready to mark")
            expect(panel).to_contain_text("Submitted, and marked: 0.5 of 0.5 points without hidden checks")
            expect(next_step).to_contain_text("Begin: Cubes")
            expect(page.get_by_role("button", name="Mark it now")).to_have_count(0)
            page.screenshot(path=ARTIFACTS / "class_marked.png")
            release_changed_mark(exchange / "gradlab" / "feedback", student_folder / LAB / f"{LAB}.ipynb")
            page.evaluate("window.dispatchEvent(new Event('focus'))")  # the student comes back to this tab
            expect(panel).to_contain_text("Submitted, and marked: 0.3 of 2 points")
            expect(panel.locator(".gradlab-score")).to_have_text("0.3 of 2 points")
            expect(mark_page.get_by_text("Read by a person")).to_be_visible()
            hand_in(page)
            expect(page.get_by_text("Submitted. Not marked: the only attempt is used up.").first).to_be_visible()
            page.screenshot(path=ARTIFACTS / "class_not_marked.png")
            write(page, "def sum_of_squares", "return (x ** 2).sum()")
            page.get_by_role("button", name="Check", exact=True).click()
            expect(next_step).to_contain_text("Mark my work in Squares")
    finally:
        watching.send_signal(signal.SIGINT)
        watch_output = watching.communicate()[0]
    assert "not marked, the only attempt is used up" in watch_output and "1 submission marked" in watch_output


def hand_in(page: Page) -> None:
    page.locator('[data-command="gradlab:mark"]').click()
    page.get_by_role("button", name="Submit", exact=True).click()


def release_changed_mark(feedback: Path, notebook: Path) -> None:
    """Release the page again, as after a person's mark."""
    (path,) = feedback.glob("*.html")
    source = digest_sources(json.loads(notebook.read_text()))["sum_of_squares"]
    marks = html.escape(json.dumps({"sum_of_squares": {"source": source, "points": 0.3}}))
    text = path.read_text().replace("</h1>", "</h1><p>Read by a person</p>", 1)
    for name, content in (("gradlab-mark", "0.3 of 2 points"), ("gradlab-marks", marks)):
        text = re.sub(f'name="{name}" content="[^"]*"', f'name="{name}" content="{content}"', text)
    path.write_text(text)


def offer_next_lab(outbound: Path) -> None:
    """Release the same lab under another name."""
    notebook = json.loads((outbound / LAB / f"{LAB}.ipynb").read_text())
    notebook["metadata"]["gradlab"] |= {"lab": NEXT_LAB, "title": "Cubes"}
    (outbound / NEXT_LAB).mkdir()
    (outbound / NEXT_LAB / f"{NEXT_LAB}.ipynb").write_text(json.dumps(notebook))
