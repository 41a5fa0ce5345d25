"""The course inside JupyterLab: where to begin, checks, quizzes, predictions, resetting, and marks."""

import json
import os
import re
from pathlib import Path

import nbformat
import pytest
from accessibility import find_faults
from conftest import ARTIFACTS, LAB, find_card, write
from playwright.sync_api import Page, expect

from tests.lab_server import LabServer, run_lab_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_student_begins_checks_selects_predicts_resets_and_is_marked(student: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab, a kernel and a grader, each of which imports torch."""
    page.goto(student.address("lab"))
    panel = page.get_by_role("region", name="Course")
    expect(panel.get_by_role("heading", name="A small course")).to_be_visible()
    expect(page.get_by_text("Create Assignment")).to_have_count(0)
    page.screenshot(path=ARTIFACTS / "course_begin.png")

    panel.get_by_role("button", name="Begin:").click()
    expect(page.locator("#jp-main-statusbar").get_by_text("| Idle")).to_be_visible()
    work = panel.get_by_role("button", name=re.compile("^sum_of_squares"))
    expect(work).to_contain_text("not started")

    # One key runs the check after the cells that it needs; so does the panel.
    work.click()
    page.keyboard.press("Control+Alt+c")
    expect(find_card(page)).to_contain_text("not written yet; 2 points to earn")
    write(page, "def sum_of_squares", "return x.sum() ** 2")
    expect(work).to_contain_text("written")
    page.keyboard.press("Control+Alt+c")
    expect(find_card(page)).to_contain_text(re.compile("your result is 49.*expected: 25"))
    expect(work).to_contain_text("0 of 1 passed")
    expect(find_card(page)).to_contain_text("This lab: 5 points")
    # A card fades when the text has changed since.
    write(page, "def sum_of_squares", "return (x * x).sum()")
    expect(find_card(page)).to_have_class(re.compile("gradlab-stale"))
    expect(find_card(page)).to_contain_text("run this check again")
    page.screenshot(path=ARTIFACTS / "course_stale.png")
    page.keyboard.press("Control+Alt+c")
    expect(work).to_contain_text("ready to mark")
    expect(find_card(page)).not_to_have_class(re.compile("gradlab-stale"))
    expect(find_card(page)).to_contain_text(
        "1 of 1 check passed so far; not done yet: 3 more run when it's marked, 1 of them required, for 2 points in all"
    )
    expect(find_card(page)).to_contain_text("This lab: 0 of 5 points, 2 more ready to mark")
    expect(find_card(page).get_by_role("button", name="Mark it now")).to_be_visible()
    find_card(page).get_by_role("button", name="Next: A quiz").click()
    expect(page.get_by_role("heading", name="A quiz")).to_be_in_viewport()
    expect(find_card(page).get_by_text("later", exact=True).first).to_be_visible()

    # A prediction is compared, and kept in the notebook. The explanation is folded until then; a student may open it.
    explanation = page.locator("p").filter(has_text="Each square is never negative")
    title = page.locator("summary").filter(has_text="Explanation")
    expect(explanation).to_be_hidden()
    title.click()
    expect(explanation).to_be_visible()
    title.click()
    expect(explanation).to_be_hidden()
    page.screenshot(path=ARTIFACTS / "course_prediction.png")
    page.get_by_label("that of the first element").check()
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("You predicted: that of the first element. It is: never negative.")).to_be_visible()
    choices = page.locator(".gradlab-choices li")
    expect(choices.filter(has_text="that of the first element").get_by_role("img", name="wrong")).to_be_visible()
    expect(choices.filter(has_text="never negative").get_by_role("img", name="right")).to_be_visible()
    # The explanation opens once the code above it has run, and can be closed again.
    expect(explanation).to_be_hidden()
    page.locator(".jp-Notebook .jp-Cell").filter(has_text='print("of -3 and 1:"').locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    expect(explanation).to_be_visible()
    title.click()
    expect(explanation).to_be_hidden()

    # Choices become letters in the cell that is graded.
    panel.get_by_role("button", name=re.compile("^A quiz")).click()
    page.get_by_label("q1 a").check()
    expect(page.get_by_label("q2 a")).to_be_hidden()
    page.get_by_role("button", name="Next question").click()
    page.get_by_label("q2 a").check()
    expect(page.locator(".cm-content").filter(has_text='"q1": "a", "q2": "a"')).to_be_visible()
    page.screenshot(path=ARTIFACTS / "course_quiz.png")

    # A double click opens a written answer for typing.
    page.get_by_role("emphasis").filter(has_text="Double-click here").dblclick()
    expect(page.get_by_text("Mode: Edit")).to_be_visible()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("It is a product.")
    expect(page.locator(".cm-content").filter(has_text=re.compile("^It is a product.$"))).to_be_visible()

    # The mark counts hidden checks, and its page explains why a statement is true.
    page.keyboard.press("Control+Alt+m")
    page.get_by_role("button", name="Show the page").click()
    mark_page = page.frame_locator("iframe")
    expect(mark_page.get_by_text("3.11 of 5 points")).to_be_visible()
    expect(mark_page.get_by_text("Nothing was added.")).to_be_visible()
    expect(work).to_contain_text("2 of 2 points")
    expect(find_card(page)).to_contain_text("Marked: 2 of 2 points, full marks")
    expect(find_card(page)).to_contain_text("hidden checks passed when it was marked")
    expect(find_card(page).get_by_text("later", exact=True).first).to_be_hidden()
    page.screenshot(path=ARTIFACTS / "course_marked.png")
    mark_page.get_by_role("button", name="Open A quiz in the notebook").click()
    expect(page.get_by_role("heading", name="A quiz")).to_be_in_viewport()
    assert find_faults(page) == []

    # A reset restores the original text, and keeps the student's as text that is not run.
    work.click()
    expect(page.get_by_text("Mode: Edit")).to_be_visible()
    page.keyboard.press("Control+Alt+r")
    page.get_by_role("dialog").get_by_role("button", name="Reset", exact=True).click()
    expect(work).to_contain_text("not started")
    page.keyboard.press("ControlOrMeta+S")
    expect(page.locator(".lm-TabBar-tab.jp-mod-dirty")).to_have_count(0)
    notebook = nbformat.read(student.folder / LAB / f"{LAB}.ipynb", as_version=4)
    raw_cells = [cell.source for cell in notebook.cells if cell.cell_type == "raw"]
    assert len(raw_cells) == 1 and "return (x * x).sum()" in raw_cells[0]
    (prediction,) = [c.metadata.gradlab_prediction for c in notebook.cells if "gradlab_prediction" in c.metadata]
    assert prediction["given"] == ["that of the first element"]
    assert not prediction["right"] and prediction["missed"]


@pytest.mark.nightly
def test_a_cell_that_misses_names_after_a_restart_says_what_to_run(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab and a kernel, twice."""
    page.goto(grader_free_server.address(f"lab/tree/{LAB}/{LAB}.ipynb") + "&reset")
    expect(page.locator("#jp-main-statusbar").get_by_text("| Idle")).to_be_visible()
    check = page.locator(".jp-Notebook .jp-Cell").filter(has_text="# @title Check: ").first
    advice = check.get_by_text("Run > Run All Above Selected Cell")
    check.click()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Enter")
    expect(check.get_by_text("NameError").first).to_be_visible()
    expect(advice).to_be_visible()
    page.screenshot(path=ARTIFACTS / "course_restarted.png")

    # The button runs the missing cells; its new output replaces the old.
    for text, heading in (("return x.sum() ** 2", "0 of 1 passed"), ("return (x * x).sum()", "1 of 1 passed")):
        write(page, "def sum_of_squares", text)
        page.get_by_role("button", name="Check", exact=True).click()
        expect(page.get_by_role("alert").filter(has_text=heading)).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(1)
    expect(advice).to_have_count(0)


@pytest.mark.nightly
def test_continue_leads_to_the_lab_that_was_worked_on_last(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab."""
    first = grader_free_server.folder / LAB / f"{LAB}.ipynb"
    second = grader_free_server.folder / "02_cubes" / "02_cubes.ipynb"
    second.parent.mkdir()
    notebook = nbformat.read(first, as_version=4)
    for path, name, title in ((first, LAB, "Squares"), (second, "02_cubes", "Cubes")):
        notebook.metadata["gradlab"] |= {"lab": name, "title": title}
        next(cell for cell in notebook.cells if cell.cell_type == "code").execution_count = 1
        nbformat.write(notebook, path)
    for older, newer, title in ((first, second, "Cubes"), (second, first, "Squares")):
        os.utime(older, (1_000, 1_000))
        os.utime(newer, (2_000, 2_000))
        page.goto(grader_free_server.address("lab") + "&reset")
        expect(page.get_by_role("button", name="Continue:")).to_have_text(f"Continue: sum_of_squares in {title}")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"])
@pytest.mark.nightly
def test_a_saved_notebook_shows_its_state_again_in_every_theme(
    course: Path, tmp_path_factory: pytest.TempPathFactory, page: Page, theme: str
) -> None:
    """Slow: starts JupyterLab for each theme."""
    path = course / "work" / LAB / f"{LAB}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.metadata.gradlab.get("exercise") == "interview" and cell.cell_type == "code":
            cell.source = cell.source.replace(
                "    # YOUR CODE HERE\n    raise NotImplementedError()", '    return {"q1": "a", "q2": "b"}'
            )
    nbformat.write(notebook, path)
    home = tmp_path_factory.mktemp("home")
    settings = home / "config" / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "themes.jupyterlab-settings").write_text(json.dumps({"theme": theme}))
    page.set_viewport_size({"width": 900, "height": 900})
    with run_lab_server(course / "work", home, course=True) as server:
        page.goto(server.address(f"lab/tree/{LAB}/{LAB}.ipynb"))
        expect(page.get_by_label("q1 a")).to_be_checked()
        expect(page.get_by_label("q1 b")).not_to_be_checked()
        expect(page.get_by_role("button", name="Mark my work")).to_be_visible()
        page.screenshot(path=ARTIFACTS / f"course_{theme.replace(' ', '_')}.png")
        assert find_faults(page) == []
        page.locator('[data-command="gradlab:mark"]').click()
        page.get_by_role("button", name="Show the page").click()
        paper = "rgb(255, 255, 255)" if theme == "JupyterLab Light" else "rgb(21, 25, 30)"
        expect(page.frame_locator("iframe").locator("body")).to_have_css("background-color", paper)
        page.screenshot(path=ARTIFACTS / f"course_marked_{theme.replace(' ', '_')}.png")


@pytest.mark.nightly
def test_without_a_grader_a_mark_is_refused_with_what_to_do(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab."""
    page.goto(grader_free_server.address(f"lab/tree/{LAB}/{LAB}.ipynb") + "&reset")
    expect(page.locator("#jp-main-statusbar").get_by_text("| Idle")).to_be_visible()
    page.locator('[data-command="gradlab:mark"]').click()
    expect(page.get_by_text("There's no grader here").first).to_be_visible()
