"""The pages of a hub as a teacher and the students click through them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from conftest import ARTIFACTS, LAB, write
from playwright.sync_api import FrameLocator, Locator, Page, expect
from smoke_walk import check, click_to_tab, find_panel

from tests.hub.hub_process import RunningHub

# When the last click was, and how long after it a message said that there's a mark.
STOPWATCH = """() => {
  const watch = (window.stopwatch = { clicked: 0, seconds: null });
  document.addEventListener('click', () => { watch.clicked = performance.now(); watch.seconds = null; }, true);
  new MutationObserver(() => {
    const messages = [...document.querySelectorAll('.Toastify__toast')].map(toast => toast.textContent);
    if (watch.clicked && watch.seconds === null && messages.some(words => words.includes('and marked:'))) {
      watch.seconds = (performance.now() - watch.clicked) / 1000;
    }
  }).observe(document.body, { childList: true, subtree: true, characterData: true });
}"""


def log_in(page: Page, hub: RunningHub, name: str) -> None:
    page.goto(hub.url)
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(hub.password)
    page.get_by_role("button", name="Sign in").click()


def come_to_front(page: Page) -> None:
    """Go to this tab. Without a window, Chromium doesn't tell it that it has the focus."""
    page.bring_to_front()
    page.evaluate("window.dispatchEvent(new Event('focus'))")


@dataclass(frozen=True)
class Teacher:
    """A teacher in the course's JupyterLab."""

    page: Page

    def open_formgrader(self) -> Page:
        self.page.get_by_role("menuitem", name="Nbgrader").click()
        return click_to_tab(self.page.get_by_role("menuitem", name="Formgrader", exact=True))

    def open_desk(self) -> Page:
        return click_to_tab(self.page.locator(".jp-LauncherCard").filter(has_text="Desk"))


def click_icons(formgrader: Page, *columns: str) -> None:
    """Click the icons in these columns of the lab's row, and wait for the outcome of each."""
    dialog = formgrader.get_by_role("dialog")
    for column in columns:
        formgrader.locator("#main-table tr").filter(has_text=LAB).locator(f"td.{column} a").click()
        expect(dialog).to_contain_text("Success")
        dialog.get_by_role("button", name="OK").click()
        expect(dialog).to_have_count(0)


@dataclass
class Student:
    """A student's tab. In Notebook 7, the lab opens in another one."""

    page: Page
    has_tabs: bool

    def __post_init__(self) -> None:
        self.first_page = self.page

    def get_lab(self) -> None:
        expect(self.page.get_by_role("article")).to_contain_text("The path")
        button = self.page.get_by_role("button", name="Get this lab: Lab 1, Squares")
        if self.has_tabs:
            self.page = click_to_tab(button)
        else:
            button.click()
        self.start_stopwatch()

    def start_stopwatch(self) -> None:
        """Wait until the lab is here, and let its page note when a mark is shown."""
        expect(self.find_cell("def sum_of_squares")).to_be_visible()
        self.page.evaluate(STOPWATCH)

    def find_cell(self, text: str) -> Locator:
        return self.page.locator(".jp-Notebook .jp-Cell").filter(has_text=text)

    def answer(self, code: str, words: str, passes: bool) -> None:
        """Write an exercise and run its check, answer the quiz, and write an answer in words."""
        find_panel(self.page).get_by_role("button", name=re.compile("^sum_of_squares")).click()
        self.write_code(code)
        check(self.page)
        expect(self.page.locator(".gradlab-card").first).to_contain_text(f"{int(passes)} of 1 check passed")
        self.page.get_by_role("checkbox", name="q1 a").check()
        self.page.get_by_role("button", name="Next question").click()
        self.page.get_by_role("checkbox", name="q2 b").check()
        self.find_cell("Why is a square never negative?").get_by_role("paragraph").first.dblclick()
        for keys in ("ControlOrMeta+End", "Shift+Home"):
            self.page.keyboard.press(keys)
        self.page.keyboard.type(words)
        self.page.keyboard.press("Shift+Enter")

    def write_code(self, code: str) -> None:
        write(self.page, "def sum_of_squares", f"return {code}")

    def submit_until_marked(self, mark: str) -> None:
        """Press Mark my work until a mark is shown: a watch that is still starting may need longer than the page waits."""
        outcome = self.page.locator(".Toastify__toast").filter(has_text=re.compile("and marked:|instructor releases"))
        while True:
            if outcome.count():
                outcome.get_by_role("button", name="Hide notification").click()
                expect(outcome).to_have_count(0)
            self.page.get_by_role("button", name="Mark my work", exact=True).click()
            self.page.get_by_role("button", name="Submit", exact=True).click()
            expect(outcome).to_be_visible()
            if "and marked:" in outcome.inner_text():
                expect(outcome).to_contain_text(mark)
                return

    def read_stopwatch(self) -> float:
        """The seconds from the last click to its mark."""
        return float(self.page.evaluate("() => window.stopwatch.seconds"))

    def return_to_lab(self) -> None:
        """Go back to the notebook, from a page in another tab."""
        if self.has_tabs:
            come_to_front(self.page)

    def expect_marks(self, total: str, exercise: str) -> None:
        """Wait until the panel and the card say these points."""
        panel = find_panel(self.page)
        expect(panel.get_by_role("region", name="Work in Squares").locator(".gradlab-score")).to_have_text(
            f"{total} of 5 points"
        )
        expect(panel.get_by_role("button", name=re.compile("^sum_of_squares"))).to_contain_text(
            f"{exercise} of 2 points"
        )
        expect(self.page.locator(".gradlab-card").first).to_contain_text(f"Marked: {exercise} of 2 points")

    def open_feedback(self) -> Page | FrameLocator:
        """Open the latest feedback page from the panel."""
        button = find_panel(self.page).get_by_role("button", name="Show the latest feedback page")
        if self.has_tabs:
            return click_to_tab(button)
        button.click()
        return self.page.frame_locator("iframe")

    def expect_on_home(self, mark: str) -> None:
        """Wait until the course's home says this mark of the submission."""
        home = self.first_page
        if self.has_tabs:
            come_to_front(home)
        else:
            find_panel(home).get_by_role("heading").get_by_role("button").first.click()
        expect(home.locator(".gradlab-submission")).to_contain_text(f"marked · {mark}")
        home.screenshot(path=ARTIFACTS / "online_home.png")

    def screenshot(self, name: str) -> None:
        self.page.screenshot(path=ARTIFACTS / f"{name}.png")
