"""What a student sees while a mark is computed: how far it is, and which of two labs is first."""

import re
from pathlib import Path

import nbformat
import pytest
from conftest import change_notebook, open_lab
from playwright.sync_api import Page, expect
from smoke_walk import find_panel
from test_lab_end import add_lab

from tests.classroom.graded_class import be_patient
from tests.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.gate]


def test_a_second_lab_waits_for_the_first_and_a_second_press_does_nothing(
    course: Path, student: LabServer, page: Page
) -> None:
    """Slow: starts JupyterLab, a kernel and a grader."""
    be_patient(course)  # the first mark ends only when it's cancelled
    add_lab(student.folder, "02_cubes", "Cubes")
    change_notebook(student, nbformat.v4.new_code_cell("while True:\n    pass"), solution="(x * x).sum()")
    open_lab(student, page)
    page.locator('[data-command="gradlab:mark"]').click()
    first = page.get_by_role("alert").filter(
        has_text=re.compile("Marking lab 1: .* Step 1 of .*: “while True:” for .* s")
    )
    expect(first).to_be_visible()
    find_panel(page).get_by_role("button", name="Cubes").click()
    expect(find_panel(page).get_by_role("heading", name="2 Cubes")).to_be_visible()
    page.keyboard.press("Control+Alt+m")
    second = page.get_by_role("alert").filter(has_text="Lab 2 waits for lab 1")
    expect(second).to_have_count(1)
    page.keyboard.press("Control+Alt+m")
    expect(second).to_contain_text("2 s")
    expect(second).to_have_count(1)

    # Whoever doesn't want to wait cancels the second, and the first goes on.
    second.get_by_role("button", name="Cancel (Ctrl+Alt+X)").click()
    expect(page.get_by_role("alert").filter(has_text="Not marked: you cancelled it.")).to_be_visible()
    expect(first).to_be_visible()
    page.keyboard.press("Control+Alt+m")
    expect(second).to_be_visible()
    first.get_by_role("button", name="Cancel (Ctrl+Alt+X)").click()

    # Then it's the second's turn, which this course can't mark.
    dialog = page.get_by_role("dialog").filter(has_text="no lab '02_cubes'")
    expect(dialog).to_be_visible()
    dialog.get_by_role("button").last.click()

    # A server that ends meanwhile may have the work already.
    page.route("**/gradlab/mark*", lambda route: route.abort())
    page.keyboard.press("Control+Alt+m")
    unanswered = page.get_by_role("dialog").filter(has_text="There is no mark yet")
    expect(unanswered).to_contain_text("The server doesn't answer. If you were submitting, your work may have arrived")
