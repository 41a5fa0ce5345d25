"""A walk through a lab by mouse, as a student takes it in any browser and any front end."""

import re
from dataclasses import dataclass

from conftest import find_card, write
from playwright.sync_api import FrameLocator, Locator, Page, expect

from tests.lab_server import LabServer


@dataclass(frozen=True)
class FrontEnd:
    """What shows notebooks. module: starts its server. has_tabs: it opens each document in its own browser tab."""

    module: str
    python: str
    has_tabs: bool

    def open_lab(self, page: Page, server: LabServer) -> Page:
        """Open the lab from the first page: JupyterLab's is the course's home, Notebook 7 shows a list of files."""
        if not self.has_tabs:
            page.goto(server.address("lab") + "&reset")
            page.get_by_role("article", name="A small course").get_by_role("button", name="Begin with lab 1").click()
            return page
        page.goto(server.address("tree"))
        return click_to_tab(find_panel(page).get_by_role("button", name="Begin: Squares"))

    def open_feedback(self, page: Page) -> Page | FrameLocator:
        """Open the feedback page from the card."""
        button = find_card(page).get_by_role("button", name="Show the feedback page")
        if self.has_tabs:
            return click_to_tab(button)
        button.click()
        return page.frame_locator("iframe")


def walk_lab(page: Page, front_end: FrontEnd) -> None:
    """Predict, write, check, answer the quiz, have it marked and read the feedback page in a lab that's open."""
    work = find_panel(page).get_by_role("button", name=re.compile("^sum_of_squares"))
    expect(work).to_contain_text("not started")

    page.get_by_role("radio", name="that of the first element").check()
    page.get_by_role("button", name="Compare").first.click()
    expect(page.get_by_text("You predicted: that of the first element. It is: never negative.")).to_be_visible()

    work.click()
    check(page)
    expect(find_card(page)).to_contain_text("not written yet; 2 points to earn")
    write(page, "def sum_of_squares", "return (x * x).sum()")
    check(page)
    expect(find_card(page)).to_contain_text("passed so far; not done yet")
    expect(work).to_contain_text("ready to mark")

    find_panel(page).get_by_role("button", name=re.compile("^A quiz")).click()
    page.get_by_role("checkbox", name="q1 a").check()
    page.get_by_role("button", name="Next question").click()
    page.get_by_role("checkbox", name="q2 b").check()
    expect(page.locator(".cm-content").filter(has_text='"q1": "a", "q2": "b"')).to_be_visible()

    page.get_by_role("button", name="Mark my work", exact=True).click()
    expect(find_card(page)).to_contain_text("Marked: 2 of 2 points, full marks")
    expect(work).to_contain_text("2 of 2 points")
    expect(front_end.open_feedback(page).get_by_text("4 of 5 points")).to_be_visible()


def click_to_tab(button: Locator) -> Page:
    """Click what opens another browser tab, and return that tab."""
    with button.page.context.expect_page() as tab:
        button.click()
    return tab.value


def find_panel(page: Page) -> Locator:
    """The course's panel."""
    return page.get_by_role("region", name="Course", exact=True)


def check(page: Page) -> None:
    """Press the notebook's button for the exercise that's being edited."""
    page.get_by_role("button", name="Check", exact=True).click()
