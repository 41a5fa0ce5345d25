"""What one line installs: `pip install labkit-….whl`, and JupyterLab has the course."""

from pathlib import Path

import pytest
from conftest import ARTIFACTS
from playwright.sync_api import Page, expect

from autograder.authoring.course_folder import read_course
from autograder.authoring.student_release import write_student_release
from tests.lab_server import run_lab_server
from tests.student_environment import create_student_environment, install_wheel

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.nightly
def test_plain_jupyterlab_shows_the_course_after_the_wheel_is_installed(
    course: Path, tmp_path: Path, page: Page
) -> None:
    """Slow: creates an environment, and starts JupyterLab."""
    release, home = tmp_path / "handout", tmp_path / "student"
    write_student_release(read_course(course), release)
    python = create_student_environment(tmp_path / "environment")
    (wheel,) = release.glob("*.whl")
    install_wheel(python, wheel)
    home.mkdir()
    with run_lab_server(release / "labs", home, python=python) as server:
        page.goto(server.address("lab"))
        panel = page.get_by_role("region", name="Course")
        expect(panel.get_by_role("heading", name="A small course")).to_be_visible()
        panel.get_by_role("button", name="Begin:").click()
        expect(panel.get_by_role("button", name="sum_of_squares")).to_contain_text("not started")
        expect(page.get_by_role("button", name="Compare")).to_be_visible()
        page.screenshot(path=ARTIFACTS / "wheel_panel.png")
        explanation = page.locator("p").filter(has_text="Each square is never negative")
        expect(explanation).to_be_hidden()
