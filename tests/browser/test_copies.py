"""A student copies an exercise's cell: everything that judges the exercise says which of the two counts."""

import re

import nbformat
import pytest
from conftest import ARTIFACTS, change_notebook, find_card, open_lab
from playwright.sync_api import Locator, Page, expect

from tests.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

RIGHT, WRONG = "return (x * x).sum()", "return x.sum() ** 2"
TWO = "There are two cells for sum_of_squares. The last one counts"


def find_versions(page: Page) -> Locator:
    return page.locator(".jp-Notebook .jp-Cell").filter(has_text="def sum_of_squares")


def copy_cell(page: Page, cell: Locator) -> None:
    cell.locator(".cm-content").click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Create a duplicate of this cell below").click()


def delete_cell(page: Page, cell: Locator) -> None:
    cell.locator(".cm-content").click()
    page.keyboard.press("Escape")
    page.keyboard.type("dd")


def replace_last_line(page: Page, cell: Locator, line: str) -> None:
    cell.locator(".cm-content").click()
    for keys in ("ControlOrMeta+End", "Shift+Home"):
        page.keyboard.press(keys)
    page.keyboard.type(line)


def check(page: Page, cell: Locator) -> Locator:
    """Press Check in this cell. Returns the message about the result."""
    cell.locator(".cm-content").click()
    page.get_by_role("button", name="Check", exact=True).click()
    return page.get_by_role("alert").filter(has_text=re.compile("of 1 passed"))


@pytest.mark.nightly
def test_check_card_and_mark_say_which_of_two_cells_counts(student: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab, a kernel and a grader."""
    change_notebook(student, solution="(x * x).sum()")
    open_lab(student, page)
    versions = find_versions(page)
    copy_cell(page, versions)
    expect(versions).to_have_count(2)
    upper, lower = versions.nth(0), versions.nth(1)
    note = page.locator(".gradlab-copy")
    expect(upper.locator(".gradlab-copy")).to_contain_text(
        f"{TWO}, not this one. To make this one count, delete the other."
    )
    expect(note).to_have_count(1)

    # The upper one is wrong, which changes nothing.
    replace_last_line(page, upper, WRONG)
    expect(check(page, upper)).to_contain_text(f"{TWO}, not this one. For the one that counts, 1 of 1 passed.")
    expect(find_card(page)).to_contain_text(f"{TWO}. This card judges it.")
    page.screenshot(path=ARTIFACTS / "copies_check.png")
    page.get_by_role("alert").get_by_role("button", name="Go to the one that counts").click()
    expect(lower.get_by_role("textbox")).to_be_focused()
    page.keyboard.press("Control+Alt+m")
    expect(page.get_by_role("alert").filter(has_text=f"{TWO}.").first).to_be_visible()
    page.get_by_role("alert").get_by_role("button", name="Show the page").click()
    expect(page.frame_locator("iframe").get_by_text("the last version counts: sum_of_squares.")).to_be_visible()
    page.screenshot(path=ARTIFACTS / "copies_page.png")


@pytest.mark.nightly
def test_a_wrong_copy_below_a_right_answer_counts_until_it_is_deleted(
    grader_free_server: LabServer, page: Page
) -> None:
    """Slow: starts JupyterLab and a kernel."""
    change_notebook(grader_free_server, solution="(x * x).sum()")
    open_lab(grader_free_server, page)
    versions = find_versions(page)
    copy_cell(page, versions)
    expect(versions).to_have_count(2)
    replace_last_line(page, versions.nth(1), WRONG)
    expect(check(page, versions.nth(0))).to_contain_text(
        f"{TWO}, not this one. For the one that counts, 0 of 1 passed."
    )
    expect(find_card(page)).to_contain_text(f"{TWO}. This card judges it.")

    # The course's own cell can't be deleted, and says so.
    delete_cell(page, versions.nth(0))
    expect(page.get_by_role("alert").filter(has_text="This cell can't be deleted: your answer")).to_be_visible()
    expect(versions).to_have_count(2)
    delete_cell(page, versions.nth(1))
    expect(versions).to_have_count(1)
    expect(page.locator(".gradlab-copy")).to_have_count(0)
    expect(check(page, versions)).to_contain_text("sum_of_squares: 1 of 1 passed.")


@pytest.mark.nightly
def test_of_a_copied_check_the_first_one_runs(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab and a kernel."""
    path = change_notebook(grader_free_server, solution="(x * x).sum()")
    notebook = nbformat.read(path, as_version=4)
    at, original = next((n, c) for n, c in enumerate(notebook.cells) if c.metadata.gradlab.kind == "check")
    copied = nbformat.from_dict({**original, "id": "copied"})
    notebook.cells.insert(at + 1, copied)
    nbformat.write(notebook, path)
    open_lab(grader_free_server, page)
    expect(page.locator(".gradlab-copy")).to_have_text(re.compile("copy of the check of sum_of_squares. The first one"))
    page.locator(".gradlab-copy").get_by_role("button", name="Go to the one that counts").click()
    page.keyboard.press("Control+Alt+c")
    expect(page.get_by_role("alert").filter(has_text="sum_of_squares: 1 of 1 passed.")).to_be_visible()
    expect(page.locator(".gradlab-card")).to_have_count(1)
