"""A student works on a released lab in JupyterLab, reads the checks' verdicts, and validates the notebook."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from lab_pages import NotebookPage
from playwright.sync_api import Locator, Page, expect

from tests.lab_server import LabServer, run_lab_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NOTEBOOK = "01_squares.ipynb"
IMPORTS, EXERCISE, CHECK = "import torch", "def sum_of_squares", "# @title Check: "  # first lines: cells are folded
WRONG, RIGHT = "return x.sum() ** 2", "return (x * x).sum()"
LABEL, HIDDEN = "3 and 4 give 25, a 0-dim tensor", "an empty tensor gives zero"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    with run_lab_server(tmp_path_factory.mktemp("students"), tmp_path_factory.mktemp("home")) as server:
        yield server


@pytest.fixture
def student(server: LabServer, built_course: Path, request: pytest.FixtureRequest) -> str:
    """The path, on the server, of a student's folder that holds the released lab and nothing else from the course."""
    (server.folder / request.node.name).mkdir()
    shutil.copy(built_course / "release" / "01_squares" / NOTEBOOK, server.folder / request.node.name)
    return f"{request.node.name}/{NOTEBOOK}"


def test_a_check_fails_with_what_it_saw_then_passes_and_says_what_stays_hidden(
    student: str, server: LabServer, page: Page
) -> None:
    """Slow: starts JupyterLab and a kernel that imports torch."""
    notebook = NotebookPage(page, server, student)
    notebook.run(IMPORTS)

    notebook.run(EXERCISE)
    verdict = notebook.run(CHECK)
    expect(verdict).to_contain_text("not written yet; 2 points to earn")
    expect(find_word(verdict, LABEL)).to_have_text("to do")

    notebook.rewrite_last_line(EXERCISE, WRONG)
    notebook.run(EXERCISE)
    verdict = notebook.run(CHECK)
    expect(find_row(verdict, LABEL)).to_contain_text(re.compile("your result is 49.*expected: 25"))
    expect(find_word(verdict, LABEL)).to_have_text("fail")
    expect(verdict).to_contain_text(
        "0 of 1 check passed here; 3 more run when it's marked, 1 of them required, for 2 points in all"
    )
    red = read_color(find_word(verdict, LABEL))

    notebook.rewrite_last_line(EXERCISE, RIGHT)
    notebook.run(EXERCISE)
    verdict = notebook.run(CHECK)
    expect(find_word(verdict, LABEL)).to_have_text("pass")
    expect(find_row(verdict, LABEL)).not_to_contain_text("your result")
    expect(verdict).to_contain_text(
        "1 of 1 check passed so far; not done yet: 3 more run when it's marked, 1 of them required, for 2 points in all"
    )
    expect(find_word(verdict, HIDDEN)).to_have_text("later")
    green = read_color(find_word(verdict, LABEL))
    assert len({red, green, read_color(verdict)}) == 3, "JupyterLab dropped the colors of pass and fail"

    notebook.save()
    saved_notebook = nbformat.read(server.folder / student, as_version=4)
    assert any(cell.source.endswith(RIGHT) for cell in saved_notebook.cells)


@pytest.mark.nightly
def test_validate_names_the_check_that_fails_and_is_content_with_a_right_answer(
    student: str, server: LabServer, page: Page
) -> None:
    """Slow: starts JupyterLab, and nbgrader runs the whole notebook twice, each time in a new kernel."""
    notebook = NotebookPage(page, server, student)

    notebook.rewrite_last_line(EXERCISE, WRONG)
    dialog = notebook.validate()
    expect(dialog.locator(".validation-failed")).to_contain_text("The following cell failed:")
    source, reason = dialog.locator("pre").first, dialog.locator("pre").last
    expect(source).to_contain_text('check.score("sum_of_squares", points=2')
    expect(reason).to_contain_text(re.compile("your result is 49.*expected: 25"))
    notebook.close(dialog)

    notebook.rewrite_last_line(EXERCISE, RIGHT)
    dialog = notebook.validate()
    expect(dialog.locator(".validation-success")).to_have_text("Success! Your notebook passes all the tests.")
    notebook.close(dialog)


@pytest.mark.nightly
def test_given_cells_cannot_be_changed_by_accident(student: str, server: LabServer, page: Page) -> None:
    """Slow: starts a kernel."""
    notebook = NotebookPage(page, server, student)
    for line in (IMPORTS, CHECK):
        text = notebook.open(line).locator(".cm-content")
        before = text.inner_text()
        text.click()
        page.keyboard.type("x")
        expect(text).to_have_text(before, use_inner_text=True)


def find_row(verdict: Locator, label: str) -> Locator:
    """The row of a card for the check with this label."""
    return verdict.locator(".gradlab-card > div").filter(has_text=label)


def find_word(verdict: Locator, label: str) -> Locator:
    """The word before that label: pass, fail or later."""
    return find_row(verdict, label).get_by_text(re.compile("^(pass|fail|later|to do)$"))


def read_color(of: Locator) -> str:
    return str(of.evaluate("element => getComputedStyle(element).color"))
