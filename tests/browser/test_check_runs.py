"""What Check runs and reports, what a card says after a mark, and predictions that are asked again."""

import re
from pathlib import Path

import nbformat
import pytest
from conftest import ARTIFACTS, change_notebook, find_card, open_lab, write
from playwright.sync_api import Page, expect

from tests.classroom.graded_class import be_patient
from tests.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.gate
def test_check_starts_a_kernel_and_goes_on(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab and a kernel, twice."""
    change_notebook(grader_free_server, solution="(x * x).sum()")
    open_lab(grader_free_server, page)
    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.get_by_role("menuitem", name="Shut Down Kernel", exact=True).click()
    expect(page.get_by_role("button", name="No Kernel")).to_be_visible()
    page.locator(".jp-Notebook .jp-Cell").filter(has_text="def sum_of_squares").locator(".cm-content").click()
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="1 of 1 passed")).to_be_visible()
    expect(find_card(page)).to_contain_text("passed so far; not done yet")


def test_check_leaves_out_the_cells_that_failed_and_says_so(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab and a kernel."""
    failed = nbformat.v4.new_code_cell("while True:\n    pass", execution_count=1)
    failed.outputs = [nbformat.v4.new_output("error", ename="KeyboardInterrupt", evalue="", traceback=[])]
    cells = [failed, nbformat.v4.new_code_cell("name = input('Who? ')"), nbformat.v4.new_code_cell("offset = 1")]
    change_notebook(grader_free_server, *cells, solution="(x * x).sum() + offset - 1")
    open_lab(grader_free_server, page)
    page.locator(".jp-Notebook .jp-Cell").filter(has_text="def sum_of_squares").locator(".cm-content").click()
    page.get_by_role("button", name="Check", exact=True).click()
    report = page.get_by_role("alert").filter(has_text="1 of 1 passed")
    expect(report).to_contain_text("“while True:” (you stopped it) and “name = input('Who? ')” (it asks for input)")
    expect(report).not_to_contain_text("offset")


@pytest.mark.gate
@pytest.mark.nightly
def test_check_says_which_cell_it_waits_for_and_stops_with_it(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab and a kernel, and waits for a cell that never ends."""
    endless = nbformat.v4.new_code_cell("import time\nwhile True:\n    time.sleep(0.1)")
    change_notebook(grader_free_server, endless, solution="(x * x).sum()")
    open_lab(grader_free_server, page)
    page.locator(".jp-Notebook .jp-Cell").filter(has_text="def sum_of_squares").locator(".cm-content").click()
    page.get_by_role("button", name="Check", exact=True).click()
    waits = page.get_by_role("alert").filter(has_text="Still running “import time”. To stop it")
    expect(waits).to_be_visible()
    page.screenshot(path=ARTIFACTS / "course_waiting.png")
    waits.get_by_role("button", name="Stop").click()
    expect(
        page.get_by_role("alert").filter(has_text="The checks didn't run: “import time” was stopped")
    ).to_be_visible()
    expect(find_card(page)).to_have_count(0)


@pytest.mark.gate
@pytest.mark.nightly
def test_check_names_the_cell_that_runs_and_goes_on_once_it_is_stopped(
    grader_free_server: LabServer, page: Page
) -> None:
    """Slow: starts JupyterLab and a kernel, and waits for a cell that never ends."""
    path = change_notebook(grader_free_server, solution="(x * x).sum()")
    notebook = nbformat.read(path, as_version=4)
    at = next(n for n, cell in enumerate(notebook.cells) if cell.source.startswith("def sum_of_squares"))
    notebook.cells.insert(at + 1, nbformat.v4.new_code_cell("while True:\n    pass"))
    nbformat.write(notebook, path)
    open_lab(grader_free_server, page)
    page.locator(".jp-Notebook .jp-Cell").filter(has_text="while True").locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    page.keyboard.press("Control+Alt+c")
    expect(page.get_by_role("alert").filter(has_text="Still running “while True:”. To stop it")).to_contain_text(
        "press Stop, or Escape and then I twice."
    )
    page.keyboard.press("Escape")
    page.keyboard.type("ii")
    report = page.get_by_role("alert").filter(has_text="sum_of_squares: 1 of 1 passed.")
    expect(report).to_contain_text("Left out: “while True:” (you stopped it).")


@pytest.mark.nightly
def test_a_mark_is_cancelled_by_a_key_and_the_focus_stays(course: Path, student: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab, a kernel and a grader."""
    be_patient(course)  # the marks end only when they're cancelled
    change_notebook(student, nbformat.v4.new_code_cell("while True:\n    pass"), solution="(x * x).sum()")
    open_lab(student, page)
    page.locator(".jp-Notebook .jp-Cell").filter(has_text="def sum_of_squares").locator(".cm-content").click()
    page.keyboard.press("Control+Alt+m")
    progress = page.get_by_role("alert").filter(has_text=re.compile("Step 1 of .*: “while True:” for .* s"))
    expect(progress).to_be_visible()
    page.screenshot(path=ARTIFACTS / "course_marking.png")
    page.keyboard.press("Control+Alt+x")
    expect(page.get_by_role("alert").filter(has_text="Not marked: you cancelled it.")).to_be_visible()
    expect(page.locator(".jp-Notebook .cm-content:focus")).to_have_count(1)
    # So does the message's button, which goes with the focus.
    page.keyboard.press("Control+Alt+m")
    expect(progress).to_be_visible()
    progress.get_by_role("button", name="Cancel").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="Not marked: you cancelled it.")).to_be_visible()
    expect(page.locator(".jp-Notebook :focus, .jp-Notebook:focus")).to_have_count(1)


def test_a_card_shows_what_a_hidden_check_found(student: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab, a kernel and a grader."""
    change_notebook(student, solution="(x * x).sum() if len(x) else x.sum() + 1")
    open_lab(student, page)
    page.locator(".jp-Notebook .jp-Cell").filter(has_text="def sum_of_squares").locator(".cm-content").click()
    page.get_by_role("button", name="Check", exact=True).click()
    expect(find_card(page)).to_contain_text("passed so far; not done yet")
    find_card(page).get_by_role("button", name="Mark it now").click()
    expect(find_card(page)).to_contain_text("hidden check")
    expect(find_card(page)).to_contain_text("✗")
    expect(find_card(page).get_by_text("later", exact=True).first).to_be_hidden()
    page.screenshot(path=ARTIFACTS / "course_hidden.png")
    # The page leads back to the cell. Another text makes the findings outdated.
    find_card(page).get_by_role("button", name="Show the feedback page").click()
    page.frame_locator("iframe").get_by_role("button", name="Open sum_of_squares in the notebook").click()
    write(page, "def sum_of_squares", "return (x * x).sum()")
    expect(find_card(page)).to_contain_text("Your cell has changed")
    expect(find_card(page)).not_to_contain_text("✗")


@pytest.mark.nightly
def test_a_prediction_that_is_asked_again_folds_its_explanation_and_hides_the_output(
    grader_free_server: LabServer, page: Page
) -> None:
    """Slow: starts JupyterLab."""
    path = change_notebook(grader_free_server)
    notebook = nbformat.read(path, as_version=4)
    for at, cell in enumerate(notebook.cells):
        if cell.metadata.gradlab.kind == "predict":
            cell.metadata["gradlab_prediction"] = {
                "given": ["that of the first element"],
                "right": False,
                "missed": True,
            }
            notebook.cells[at + 1].execution_count = 1
            notebook.cells[at + 1].outputs = [nbformat.v4.new_output("stream", name="stdout", text="of -3 and 1: 10")]
    nbformat.write(notebook, path)
    page.goto(grader_free_server.address("lab") + "&reset")
    again = page.get_by_role("region", name="Predict again")
    again.get_by_role("button", name="What is the sign of a sum of squares?").click()
    question = page.locator(".gradlab-prediction")
    expect(question).to_contain_text("You have been asked this before.")
    explanation = page.locator("p").filter(has_text="Each square is never negative")
    output = page.get_by_text("of -3 and 1: 10", exact=True)
    expect(explanation).to_be_hidden()
    expect(output).to_be_hidden()
    page.get_by_role("radio", name="never negative").check()
    page.get_by_role("button", name="Compare").click()
    expect(explanation).to_be_visible()
    expect(output).to_be_visible()


@pytest.mark.nightly
def test_a_choice_that_is_a_number_is_compared_as_a_choice(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab."""
    path = change_notebook(grader_free_server)
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.metadata.gradlab.kind == "predict":
            cell.source = "**Predict.** What is the sum?\n\n- [ ] nothing\n- [ ] 16, the first square\n- [ ] 20"
            cell.metadata.gradlab["answer"] = ["20"]
    nbformat.write(notebook, path)
    open_lab(grader_free_server, page)
    prediction = page.locator(".gradlab-prediction")
    page.get_by_role("radio", name="16, the first square").check()
    prediction.get_by_role("button", name="Compare").click()
    expect(prediction).to_contain_text("✗ You predicted: 16, the first square. It is: 20.")
    page.get_by_role("radio", name=re.compile("20$")).check()
    prediction.get_by_role("button", name="Compare").click()
    expect(prediction).to_contain_text("✓ You predicted: 20. That's what happens.")
