"""What people who work alone get instead of an instructor: solutions, model answers, and a quiz that says why."""

import re
from pathlib import Path

import nbformat
import pytest
from conftest import ARTIFACTS, change_notebook, find_card, open_lab, write
from playwright.sync_api import Page, expect

from tests.classroom.graded_class import be_patient
from tests.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.gate]


def test_a_lone_learner_compares_a_written_answer_and_marks_it(student: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab, a kernel and a grader."""
    path = change_notebook(student)
    notebook = nbformat.read(path, as_version=4)
    next(cell for cell in notebook.cells if cell.metadata.gradlab.kind == "question").source = "It is a product."
    nbformat.write(notebook, path)
    open_lab(student, page)
    own = page.locator(".gradlab-own")
    own.get_by_role("button", name="Compare").click()
    expect(own).to_contain_text("A model answer")
    expect(own).to_contain_text("Two numbers of one sign.")
    expect(own.get_by_role("group", name="Model answer")).to_be_focused()
    page.screenshot(path=ARTIFACTS / "course_model_answer.png")
    page.keyboard.press("Tab")
    expect(own.get_by_label("Points for why")).to_be_focused()
    own.get_by_role("button", name="Save this mark").click()
    expect(own).to_contain_text("Choose the points first.")
    expect(own.get_by_label("Points for why")).to_be_focused()
    for _ in range(2):
        page.keyboard.press("ArrowDown")  # chooses the next number, and stays in the list
    expect(own.get_by_label("Points for why")).to_have_value("0.5")
    own.get_by_role("button", name="Save this mark").click()
    expect(own).to_contain_text("You gave this answer 0.5 of 1 point.")
    expect(own.get_by_role("button", name="Compare again")).to_be_focused()
    panel = page.get_by_role("region", name="Course", exact=True)
    expect(panel.get_by_role("button", name="why")).to_contain_text("0.5 of 1 point")


def test_a_solution_is_offered_after_two_marks_below_full(student: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab, a kernel and a grader."""
    change_notebook(student, solution="x.sum() + 0")
    open_lab(student, page)
    for answer in ("x.sum() + 1", "x.sum() + 2"):
        expect(page.get_by_role("button", name="Show a solution")).to_have_count(0)
        write(page, "def sum_of_squares", f"return {answer}")
        page.get_by_role("button", name="Check", exact=True).click()
        expect(find_card(page)).to_contain_text("0 of 1 check passed")
        page.locator('[data-command="gradlab:mark"]').click()
        expect(find_card(page)).to_contain_text("Marked: 0 of 2 points")
    find_card(page).get_by_role("button", name="Show a solution").click()
    expect(find_card(page).get_by_role("button", name="Show it")).to_be_focused()
    page.keyboard.press("Enter")
    expect(find_card(page)).to_contain_text("(x * x).sum()")
    expect(
        find_card(page).locator("pre.language-python, code.language-python, pre code").locator("span").first
    ).to_be_visible()
    page.screenshot(path=ARTIFACTS / "course_solution.png")


@pytest.mark.nightly
def test_a_quiz_says_why_and_remembers_the_first_try(student: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab, a kernel and a grader."""
    open_lab(student, page)
    page.get_by_role("region", name="Course", exact=True).get_by_role("button", name=re.compile("^A quiz")).click()
    pager = page.locator(".gradlab-pager")
    expect(pager).to_contain_text("Question 1 of 2")
    # The second of two quick clicks hits nothing of the next question, and doesn't open the text for editing.
    page.get_by_role("button", name="Next question").dblclick()
    expect(pager).to_contain_text("Question 2 of 2")
    expect(page.locator(".gradlab-choices input:checked")).to_have_count(0)
    page.get_by_role("button", name="Previous question").click()
    for letter in "ab":
        page.get_by_label(f"q1 {letter}").check()
    pager.get_by_role("button", name="Compare").click()
    question = page.get_by_role("region", name="Question q1")
    expect(question).to_contain_text("✓ Right: this statement is true. The product of two numbers of one sign.")
    expect(question).to_contain_text("✗ Not quite: this statement is false. That of zero is.")
    expect(page.get_by_text("✗ You misjudged 1 of 2 statements.")).to_be_visible()
    page.screenshot(path=ARTIFACTS / "course_quiz_compared.png")
    # A second try changes the letters, what the statements say, and not what's recorded.
    page.get_by_label("q1 b").uncheck()
    expect(question).to_contain_text("✓ Right: this statement is false. That of zero is.")
    expect(page.get_by_text("✓ You judged all 2 statements correctly.")).to_be_visible()
    expect(pager).to_contain_text("First try: 0 of 1 compared questions right.")
    panel = page.get_by_role("region", name="Course", exact=True)
    expect(panel.get_by_role("button", name=re.compile("^A quiz"))).to_contain_text(
        "first try: 0 of 1 compared questions right"
    )
    expect(page.locator(".cm-content").filter(has_text='"q1": "a", "q2": ""')).to_be_visible()
    page.get_by_role("button", name="Next question").click()
    expect(page.get_by_label("q2 a")).to_be_focused()
    expect(page.get_by_label("q2 a")).to_be_enabled()


@pytest.mark.nightly
def test_a_mark_can_be_cancelled_and_the_next_one_arrives(course: Path, student: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab, a kernel, and two graders, and waits for a cell that never ends."""
    be_patient(course)  # the mark ends only when it's cancelled
    change_notebook(student, nbformat.v4.new_code_cell("while True:\n    pass"), solution="(x * x).sum()")
    open_lab(student, page)
    mark = page.locator('[data-command="gradlab:mark"]')
    mark.click()
    expect(page.get_by_role("alert").filter(has_text="Marking lab 1: 2 s")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("alert").filter(has_text="Not marked: you cancelled it.")).to_be_visible()
    page.locator(".jp-Notebook .jp-Cell").filter(has_text="while True").locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("offset = 0")
    mark.click()
    expect(page.get_by_role("alert").filter(has_text="2 of 5 points")).to_be_visible()
