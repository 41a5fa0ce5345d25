"""A browser, a small lesson to open in it, and the files that are kept in artifacts/ when a test fails."""

import contextlib
import os
import re
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import nbformat
import pytest
from playwright.sync_api import Browser, Error, Locator, Page, Route, expect, sync_playwright

from autograder.authoring.course_folder import build_course, read_course
from tests.hub.hub_process import RunningHub
from tests.lab_server import LabServer, run_lab_server

if TYPE_CHECKING:
    from labkit.pictures.picture import Picture

ROOT = Path(__file__).parents[2]
ARTIFACTS = ROOT / "artifacts"
PATIENCE = 600_000  # milliseconds, of which an idle machine needs a few thousand
QUIET = "--disable-background-networking --disable-component-update --disable-sync --disable-quic --no-first-run"
LAB = "01_squares"
ASKED = """
# %% predict: sign
# What is the sign of a sum of squares?
# - [ ] that of the first element
# - [x] *never* negative

# %% example
print("of -3 and 1:", 10)

# %% [markdown]
# Each square is never negative, and so is their sum.

# %% quiz: interview points=2
# ## A quiz
#
# Select all true statements.
#
# **Squares**
#
# - [x] A square is never negative.
#   > The product of two numbers of one sign.
# - [ ] A square is never zero.
#   > That of zero is.
#
# Hint: Think of zero.
#
# **Sums**
#
# - [ ] An empty sum is an error.
#   > It is zero.
# - [x] An empty sum is zero.
#   > Nothing was added.
#
# Hint: What is added?

# %% question: why [markdown] points=1
# Why is a square never negative?
#
# ### BEGIN SOLUTION
# Two numbers of one sign.
# ### END SOLUTION
"""
QUIZ_NAMES = "assert_answered, assert_close, assert_letters, check, explain"


# Not for the session: while Playwright is open, its event loop runs, and nothing else in this process can run one.
@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """Headless Chromium, or the Debian package that a test names."""
    package = getattr(request, "param", "chromium")
    program = shutil.which(package)
    if program is None:
        skip_without(f"no {package} on PATH: scripts/system_packages.sh installs it")
    with sync_playwright() as playwright:
        if package == "chromium":
            arguments = ["--no-sandbox", "--disable-gpu", *QUIET.split()]
            yield playwright.chromium.launch(executable_path=program, args=arguments)
        else:
            # This channel drives any Firefox, by WebDriver BiDi. The others need Playwright's own build.
            yield playwright.firefox.launch(executable_path=program, channel="moz-firefox")


def skip_without(reason: str) -> NoReturn:
    """Skip a test that lacks something. Under CI it fails."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty tab of a new profile."""
    with open_profile(browser) as page:
        yield page


@contextlib.contextmanager
def open_profile(browser: Browser, **place: str) -> Iterator[Page]:
    """Open a tab of a new profile, as of another person. It reaches this machine's servers and nothing else.

    Args:
        place: Where the person is: `timezone_id` and `locale`.
    """
    expect.set_options(timeout=PATIENCE)
    context = browser.new_context(viewport={"width": 1280, "height": 1000}, **place)
    context.set_default_timeout(PATIENCE)
    context.route(re.compile(r"^https?://(?!127\.0\.0\.1[:/])"), _refuse)
    yield context.new_page()
    context.close()


@pytest.fixture
def course(small_course: Path) -> Path:
    """A course of one lab with an exercise, a quiz and a prediction; its student works in work/."""
    lesson = small_course / "labs" / LAB / "lab.py"
    text = lesson.read_text().replace("import assert_close, check, explain", f"import {QUIZ_NAMES}")
    lesson.write_text(text.rstrip() + "\n" + ASKED)
    build_course(read_course(small_course))
    shutil.copytree(small_course / "release", small_course / "work")
    return small_course


@pytest.fixture
def student(course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    with run_lab_server(course / "work", tmp_path_factory.mktemp("home"), course=True) as server:
        yield server


@pytest.fixture(scope="module")
def home_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A student's server without a grader, shared by the tests that need none."""
    folder = tmp_path_factory.mktemp("alone")
    with run_lab_server(folder, tmp_path_factory.mktemp("home"), course=True) as server:
        yield server


@pytest.fixture
def grader_free_server(home_server: LabServer, course: Path) -> LabServer:
    """The same with the labs as released, and without a kernel."""
    home_server.end_kernels()
    for path in home_server.folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
    shutil.copytree(course / "release", home_server.folder, dirs_exist_ok=True)
    return home_server


def open_lab(server: LabServer, page: Page) -> None:
    page.goto(server.address(f"lab/tree/{LAB}/{LAB}.ipynb") + "&reset")
    expect(page.locator("#jp-main-statusbar").get_by_text("| Idle")).to_be_visible()


def change_notebook(server: LabServer, *added: nbformat.NotebookNode, solution: str = "") -> Path:
    """Write an answer into the notebook, and put these cells at its top."""
    path = server.folder / LAB / f"{LAB}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if solution and cell.source.startswith("def sum_of_squares"):
            cell.source = f"def sum_of_squares(x):\n    return {solution}"
    notebook.cells[:0] = added
    nbformat.write(notebook, path)
    return path


def find_card(page: Page) -> Locator:
    return page.locator(".gradlab-card").first


def write(page: Page, text: str, line: str) -> None:
    """Replace the last line of the cell that contains the text."""
    page.locator(".jp-Notebook .jp-Cell").filter(has_text=text).locator(".cm-content").click()
    for keys in ("ControlOrMeta+End", "Shift+Home"):
        page.keyboard.press(keys)
    page.keyboard.type(line)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """When a test fails, keep what the browser showed and what the server printed."""
    report = yield
    if report.failed:
        folder = ARTIFACTS / re.sub(r"\W+", "_", item.name)
        shutil.rmtree(folder, ignore_errors=True)
        for name, value in getattr(item, "funcargs", {}).items():
            _keep(value, folder, name)
    return report


def _keep(value: object, folder: Path, name: str) -> None:
    if isinstance(value, LabServer):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(value.log, folder / f"{name}.log")
    if isinstance(value, RunningHub):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(value.log, folder / f"{name}.log")
    if isinstance(value, Page):
        folder.mkdir(parents=True, exist_ok=True)
        # A browser that died shows nothing; the test's own error must not be lost for it.
        with contextlib.suppress(Error):
            value.screenshot(path=folder / f"{name}.png")
            for number, frame in enumerate(value.frames):
                (folder / f"{name}_{number}.html").write_text(frame.content(), encoding="utf-8")


def _refuse(route: Route) -> None:
    route.abort()


@pytest.fixture(scope="module")
def pictures() -> dict[str, "Picture"]:
    """Every kind of picture, drawn once."""
    from every_picture import draw_every_picture  # imports torch, which most browser tests don't need

    return draw_every_picture()


@pytest.fixture
def open_page(browser: Browser, pictures: dict[str, "Picture"]) -> Iterator[Any]:
    """Open plain pages with the pictures of these names."""
    from picture_page import open_picture_page

    with contextlib.ExitStack() as pages:
        yield lambda *names, **options: pages.enter_context(open_picture_page(browser, pictures, *names, **options))


def expect_text_to_stay_rendered(page: Page, cell: Locator) -> None:
    """Expect that neither a double click nor Enter opens a text."""
    cell.locator(".jp-RenderedMarkdown").dblclick(position={"x": 3, "y": 3})
    cell.focus()
    page.keyboard.press("Enter")
    expect(cell.locator(".jp-RenderedMarkdown")).to_be_visible()
    expect(cell.locator(".cm-content:visible")).to_have_count(0)
    expect(page.get_by_text("Mode: Command")).to_be_visible()
