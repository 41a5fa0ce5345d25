"""Drives JupyterLab's and nbgrader's pages as a person does."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.lab_server import LabServer


class NotebookPage:
    """A notebook that is open in JupyterLab, with its kernel ready."""

    def __init__(self, page: Page, server: LabServer, path: str) -> None:
        self.page = page
        page.goto(f"{server.address(f'lab/tree/{path}')}&reset")  # without the tabs of another test
        # The toolbar's circle says idle before there is a kernel, and a cell that is run then is lost.
        expect(page.locator("#jp-main-statusbar").get_by_text("| Idle")).to_be_visible()

    def find_cell(self, text: str) -> Locator:
        """The one cell that shows this text. A folded cell shows only its first line."""
        return self.page.locator(".jp-Notebook .jp-Cell").filter(has_text=text)

    def open(self, text: str) -> Locator:
        """The cell, unfolded as a person does it: by a click on its first line."""
        cell = self.find_cell(text)
        expect(cell).to_be_visible()
        if cell.locator(".jp-InputPlaceholder").count():
            cell.locator(".jp-Placeholder-content").click()
        return cell

    def run(self, text: str) -> Locator:
        """Run the cell with Shift+Enter, wait for its end, and return its output."""
        cell = self.open(text)
        prompt = cell.locator(".jp-InputPrompt")
        before = re.sub(r"\D", "", prompt.inner_text()) or "none"
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        expect(prompt).to_have_text(re.compile(rf"^\[(?!{before}\])\d+\]:"))
        return cell.locator(".jp-OutputArea")

    def run_all(self) -> None:
        """Run every cell, as the menu does, and wait for the last one's output: a folded cell has no number."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        last = self.page.locator(".jp-Notebook .jp-CodeCell").last
        expect(last.locator(".jp-OutputArea-output").first).to_be_visible()

    def rewrite_last_line(self, text: str, line: str) -> None:
        """Replace the last line of the cell with `line`, after its indent."""
        self.find_cell(text).locator(".cm-content").click()
        for keys in ("ControlOrMeta+End", "Shift+Home"):
            self.page.keyboard.press(keys)
        self.page.keyboard.type(line)

    def save(self) -> None:
        self.page.keyboard.press("ControlOrMeta+S")
        expect(self.page.locator(".lm-TabBar-tab.jp-mod-current.jp-mod-dirty")).to_have_count(0)

    def validate(self) -> Locator:
        """Click nbgrader's Validate and return the dialog that it ends with."""
        self.page.get_by_role("button", name="Validate").click()
        dialog = self.page.get_by_role("dialog").filter(has_text="Validation")
        expect(dialog).to_be_visible()
        return dialog

    def close(self, dialog: Locator) -> None:
        dialog.get_by_role("button", name="Ok").click()
        expect(dialog).to_have_count(0)


def describe_frame(picture: Locator) -> str:
    """What a picture of labkit shows: its words, and which parts are visible and highlighted."""
    script = (
        "one => [...one.querySelectorAll('*')].map(part => part.style.display + part.style.opacity) + one.textContent"
    )
    return str(picture.locator("svg").evaluate(script))


class SavedNotebook:
    """A notebook that is open in JupyterLab without a kernel: its metadata must name one that isn't installed."""

    def __init__(self, page: Page, server: LabServer, path: str) -> None:
        page.goto(server.address(f"lab/tree/{path}") + "&reset")
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("combobox").select_option(label="No Kernel")
        dialog.get_by_role("button", name="Select").last.click()
        expect(dialog).to_have_count(0)
        self.pictures = page.locator(".gradlab-picture")


class Formgrader:
    """nbgrader's formgrader in its tab, opened from JupyterLab's menu."""

    def __init__(self, page: Page, server: LabServer) -> None:
        page.goto(server.address("lab"))
        page.get_by_role("menuitem", name="Nbgrader").click()
        page.get_by_role("menuitem", name="Formgrader", exact=True).click()
        frame = page.locator("iframe").element_handle().content_frame()
        assert frame is not None
        self.frame = frame

    def follow(self, link: str, to: str) -> None:
        """Click a link with this text, and wait until its page has loaded."""
        self.frame.get_by_role("link", name=link, exact=True).click()
        self.frame.wait_for_url(re.compile(rf"/formgrader/{to}$"))

    def find_cell(self, text: str) -> Locator:
        """The cells of tables that hold exactly this text."""
        return self.frame.locator("td").filter(has_text=re.compile(rf"^\s*{re.escape(text)}\s*$"))

    def find_row(self, text: str) -> Locator:
        """The row of the page's table that has a cell with exactly this text."""
        return self.frame.locator("#main-table tr").filter(has=self.find_cell(text))

    def click_icon(self, row: str, column: str) -> Locator:
        """Click the icon in a row, and return the dialog that shows the outcome."""
        self.find_row(row).locator(f"td.{column} a").click()
        dialog = self.frame.get_by_role("dialog")
        expect(dialog).to_be_visible()
        return dialog

    def close(self, dialog: Locator) -> None:
        dialog.get_by_role("button", name="OK").click()
        expect(dialog).to_have_count(0)
