"""What a student has answered is saved at once, so a reload loses nothing. JupyterLab's own saving is off here."""

from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from conftest import LAB, open_lab
from playwright.sync_api import Page, Route, expect

from tests.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ANSWER = "It is a product."


def end_autosave(page: Page) -> None:
    page.get_by_role("menuitem", name="Settings", exact=True).click()
    page.locator(".lm-Menu-itemLabel").filter(has_text="Autosave Documents").click()


def read_notebook(server: LabServer) -> str:
    """The notebook's file, as text."""
    return Path(server.folder / LAB / f"{LAB}.ipynb").read_text(encoding="utf-8")


def expect_save(page: Page) -> AbstractContextManager[object]:
    """Wait at the end of a `with` for the browser to save the notebook."""
    return page.expect_response(lambda response: response.request.method == "PUT" and LAB in response.url)


def test_answers_are_saved_as_they_are_given(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab."""
    open_lab(grader_free_server, page)
    end_autosave(page)
    page.get_by_role("radio", name="never negative").check()
    with expect_save(page):
        page.get_by_role("button", name="Compare").click()
    assert "gradlab_prediction" in read_notebook(grader_free_server)
    with expect_save(page):
        page.get_by_label("q1 a").check()
    assert r"\"q1\": \"a\"" in read_notebook(grader_free_server)

    page.get_by_role("emphasis").filter(has_text="Double-click here").dblclick()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type(ANSWER)
    with expect_save(page):
        page.keyboard.press("Shift+Enter")
    assert ANSWER in read_notebook(grader_free_server)

    # An answer in code is saved once the focus leaves it.
    cell = page.locator(".jp-Notebook .jp-Cell").filter(has_text="def sum_of_squares")
    cell.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+End")
    page.keyboard.type("  # mine")
    with expect_save(page):
        page.keyboard.press("Control+Alt+p")
    assert "# mine" in read_notebook(grader_free_server)

    expect(page.locator(".lm-TabBar-tab.jp-mod-dirty")).to_have_count(0)
    page.reload()
    expect(page.get_by_label("q1 a")).to_be_checked()
    expect(page.get_by_role("paragraph").filter(has_text=ANSWER)).to_be_visible()


@pytest.mark.nightly
def test_a_save_waits_for_the_one_before_it(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab, which takes two saves at once for a change by another program."""
    open_lab(grader_free_server, page)
    end_autosave(page)
    saves: list[Route] = []  # that the server hasn't received
    page.route(lambda url: "api/contents" in url and LAB in url, lambda route: hold_save(route, saves))
    page.get_by_label("q1 a").check()
    page.get_by_label("q1 b").check()
    page.keyboard.press("ControlOrMeta+s")
    page.evaluate("async () => { for (let i = 0; i < 90; i++) await new Promise(requestAnimationFrame); }")
    assert len(saves) == 1
    with expect_save(page):
        saves.pop().continue_()
    while not saves:
        page.wait_for_timeout(50)
    with expect_save(page):
        saves.pop().continue_()
    expect(page.locator(".lm-TabBar-tab.jp-mod-dirty")).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert not saves, "two saves that waited are one"
    assert r"\"q1\": \"ab\"" in read_notebook(grader_free_server)


def hold_save(route: Route, saves: list[Route]) -> None:
    """Keep a save for the test. Any other request goes on."""
    if route.request.method == "PUT":
        saves.append(route)
    else:
        route.continue_()
