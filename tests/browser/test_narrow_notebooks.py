"""Labs in narrow and low windows of JupyterLab: wide parts scroll on their own, with a bar, and nothing hides the rest."""

import base64
import io
import shutil
from collections.abc import Iterator

import nbformat
import pytest
from conftest import ARTIFACTS, QUIET, change_notebook, find_card, open_lab, skip_without
from every_picture import save_notebook
from lab_pages import SavedNotebook
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from smoke_walk import find_panel

from labkit.pictures.picture import LEAST, LEAST_FITTED, Picture
from tests.lab_server import LabServer, run_lab_server

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.gate]

SIZES = [pytest.param(853, 600, marks=pytest.mark.nightly), (400, 700)]
WIDE = {
    "pre": "```\n" + "a line of code that goes on " * 6 + "\n```",
    'mjx-container[display="true"]': "$$" + " + ".join(f"x_{{{n}}}" for n in range(40)) + "$$",
    "table": "|" + "a_long_name|" * 12 + "\n|" + "-|" * 12 + "\n|" + "`a_long_name`|" * 12,
}
COVERED = 120  # pixels at the end of the window, where messages appear
SCROLLING = """one => one.scrollWidth > one.clientWidth && one.offsetHeight - one.clientHeight >= 10
  && getComputedStyle(one).overflowX === 'auto'"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium with the scroll bars that Playwright hides."""
    program = shutil.which("chromium")
    if program is None:
        skip_without("no chromium on PATH: scripts/system_packages.sh installs it")
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", *QUIET.split()]
        yield playwright.chromium.launch(
            executable_path=program, args=arguments, ignore_default_args=["--hide-scrollbars"]
        )


@pytest.fixture(scope="module")
def saved_pictures(pictures: dict[str, Picture], tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    folder, home = tmp_path_factory.mktemp("notebooks"), tmp_path_factory.mktemp("home")
    save_notebook(pictures, folder / "pictures.ipynb", home / "data")
    with run_lab_server(folder, home, course=True) as started:
        yield started


def set_size(page: Page, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})


def is_scrolling(element: Locator) -> bool:
    """Whether it's wider than its place and shows a scroll bar."""
    return bool(element.evaluate(SCROLLING))


def make_figure_cell(width: int) -> nbformat.NotebookNode:
    """A cell whose output is an image this wide."""
    image = io.BytesIO()
    Image.new("RGB", (width, 200), "gray").save(image, "PNG")
    data = {"image/png": base64.b64encode(image.getvalue()).decode()}
    return nbformat.v4.new_code_cell("1", outputs=[nbformat.v4.new_output("display_data", data)])


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_wide_parts_of_a_text_scroll_on_their_own(
    grader_free_server: LabServer, page: Page, width: int, height: int
) -> None:
    """Slow: starts JupyterLab and a kernel."""
    name = f"a `{'name_' * 30}` in a text"
    cells = [nbformat.v4.new_markdown_cell(text) for text in ("\n\n".join(WIDE.values()), name)]
    change_notebook(grader_free_server, *cells, make_figure_cell(900))
    set_size(page, width, height)
    open_lab(grader_free_server, page)
    texts = page.locator(".jp-Notebook .jp-RenderedMarkdown")
    for selector in WIDE:
        expect(texts.first.locator(selector)).to_be_visible()
        assert is_scrolling(texts.first.locator(selector)), selector
    for text in texts.all():
        assert text.evaluate("one => one.scrollWidth <= one.clientWidth"), text.text_content()
    page.screenshot(path=ARTIFACTS / f"narrow_text_{width}.png")
    figure = page.locator(".jp-Notebook .jp-RenderedImage")
    assert is_scrolling(figure)
    box = figure.locator("img").bounding_box()
    assert box is not None and abs(box["width"] - 600) < 1


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_each_picture_keeps_readable_words_and_shows_the_bar_to_the_rest(
    saved_pictures: LabServer, page: Page, pictures: dict[str, Picture], width: int, height: int
) -> None:
    """Slow: starts JupyterLab."""
    set_size(page, width, height)
    shown = SavedNotebook(page, saved_pictures, "pictures.ipynb").pictures
    expect(shown.locator("svg[aria-label]")).to_have_count(len(pictures))
    for (name, picture), one in zip(pictures.items(), shown.all(), strict=True):
        drawing = picture.drawing
        assert drawing is not None
        host, svg = one.locator(".scroll").first, one.locator("svg")
        for least, following in ((LEAST_FITTED, "Enlarge"), (LEAST, "Fit to the page")):
            expect(one.get_by_text("Scroll sideways")).to_be_visible()
            box = svg.bounding_box()
            assert box is not None and abs(box["width"] - least * drawing.width) < 1, (name, least)
            assert is_scrolling(host), (name, least)
            # The bar is in the window with the picture, and leads to the picture's end.
            assert host.evaluate("one => one.offsetHeight <= 0.7 * innerHeight + 1"), (name, least)
            ends = host.evaluate(
                "one => { one.scrollTo(9999, 9999); const [a, b] = [one, one.firstChild].map(e => e.getBoundingClientRect());"
                " return [b.right - a.left - one.clientWidth, b.bottom - a.top - one.clientHeight]; }"
            )
            assert max(ends) < 1, (name, least, ends)
            one.get_by_role("button", name=following).click()
        assert host.evaluate("one => one.scrollWidth <= one.clientWidth"), name
        expect(one.get_by_role("button", name="Enlarge")).to_be_visible()


def test_the_panel_folds_away_when_the_window_becomes_narrow(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab and a kernel."""
    open_lab(grader_free_server, page)
    expect(find_panel(page)).to_be_visible()
    set_size(page, 400, 700)
    expect(find_panel(page)).to_be_hidden()
    box = page.locator(".jp-Notebook").bounding_box()
    assert box is not None and box["width"] > 300
    # What the student opens in a narrow window stays open there.
    page.keyboard.press("Control+Alt+p")
    expect(find_panel(page).locator(".gradlab-continue")).to_be_focused()
    set_size(page, 500, 700)
    expect(find_panel(page)).to_be_visible()
    page.keyboard.press("Escape")
    expect(find_panel(page)).to_be_hidden()
    set_size(page, 1280, 1000)
    expect(find_panel(page)).to_be_visible()
    # The focus goes back to the notebook.
    find_panel(page).locator(".gradlab-continue").focus()
    set_size(page, 400, 700)
    expect(find_panel(page)).to_be_hidden()
    expect(page.locator(".jp-Notebook :focus, .jp-Notebook:focus")).to_have_count(1)


@pytest.mark.nightly
def test_a_panel_that_was_closed_stays_closed(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab and a kernel."""
    open_lab(grader_free_server, page)
    expect(find_panel(page)).to_be_visible()
    page.keyboard.press("ControlOrMeta+B")
    expect(find_panel(page)).to_be_hidden()
    for width in (400, 1280):
        set_size(page, width, 700)
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        expect(find_panel(page)).to_be_hidden()


@pytest.mark.nightly
def test_check_shows_the_beginning_of_the_card(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab and a kernel."""
    change_notebook(grader_free_server, solution="x.sum()")
    set_size(page, 400, 600)
    open_lab(grader_free_server, page)
    page.locator(".jp-Notebook .jp-Cell").filter(has_text="def sum_of_squares").locator(".cm-content").click()
    page.keyboard.press("Control+Alt+c")
    message = page.get_by_role("alert").filter(has_text="0 of 1 passed")
    expect(message).to_be_visible()
    page.screenshot(path=ARTIFACTS / "narrow_check.png")
    head, reason = find_card(page).locator(".gradlab-card-head"), find_card(page).locator(".gradlab-check-fail").first
    begin, notebook = find_card(page).bounding_box(), page.locator(".jp-Notebook").bounding_box()
    assert begin is not None and notebook is not None and begin["y"] >= notebook["y"] - 1
    for part in (head, reason):
        box = part.bounding_box()
        assert box is not None and box["y"] + 20 <= 600 - COVERED, part
