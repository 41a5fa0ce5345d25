"""When the labs of a class are due, on the course's home."""

import pytest
from accessibility import find_faults
from conftest import ARTIFACTS, open_profile
from playwright.sync_api import Browser, Route, expect

from tests.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.parametrize(
    ("due", "words"),
    [
        ("2099-12-04T09:00:00+00:00", "Due Fri 4 Dec, 18:00"),
        pytest.param("2020-12-04T09:00:00+00:00", "Was due Fri 4 Dec, 18:00", marks=pytest.mark.nightly),
    ],
)
def test_a_student_in_tokyo_reads_a_due_date_in_the_time_of_tokyo(
    grader_free_server: LabServer, browser: Browser, due: str, words: str
) -> None:
    """Slow: starts JupyterLab."""

    def add_due_date(route: Route) -> None:
        """Answer as for a student of a class."""
        answer = route.fetch()
        course = answer.json()
        course["labs"][0]["due"] = due
        route.fulfill(response=answer, json=course)

    with open_profile(browser, timezone_id="Asia/Tokyo", locale="en-GB") as page:
        page.route("**/gradlab/course*", add_due_date)
        page.goto(grader_free_server.address("lab") + "&reset")
        lab = page.get_by_role("article", name="A small course").get_by_role("listitem")
        expect(lab.get_by_role("paragraph").filter(has=page.locator("time"))).to_have_text(words)
        expect(lab.locator("time")).to_have_attribute("datetime", due.replace("+00:00", ".000Z"))
        page.screenshot(path=ARTIFACTS / "home_due.png")
        assert find_faults(page) == []
