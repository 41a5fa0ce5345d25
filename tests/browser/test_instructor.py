"""An instructor releases and autogrades a lab by nbgrader's own pages, and sees the marks that Gradlab gives."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_pages import Formgrader
from nbgrader.api import Gradebook
from playwright.sync_api import Page, expect

from autograder.authoring.course_folder import read_course, read_labs
from autograder.demo.students import fill_notebook
from tests.lab_server import LabServer, run_lab_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LAB = "01_squares"
# Right but for its side effect: one of the four checks fails, so it gets 1.5 of 2 points.
SPOILS_ITS_ARGUMENT = "def sum_of_squares(x):\n    return x.mul_(x).sum()\n"


@pytest.fixture
def instructor(small_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """An instructor's JupyterLab on a course's folder with two submissions of the lab."""
    (lab,) = read_labs(read_course(small_course))
    for student in ("ada", "grace"):
        folder = small_course / "submitted" / student / LAB
        folder.mkdir(parents=True)
        notebook = fill_notebook(lab, {"sum_of_squares": SPOILS_ITS_ARGUMENT})
        (folder / f"{LAB}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    with run_lab_server(small_course, tmp_path_factory.mktemp("home")) as server:
        yield server


@pytest.mark.nightly  # by day tests/labext/test_formgrader.py asks the same server
def test_the_formgrader_releases_and_autogrades_with_gradlabs_marks(instructor: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab, and nbgrader runs a submission in a kernel that imports torch."""
    built = instructor.folder / "release" / LAB / f"{LAB}.ipynb"
    as_built = built.read_bytes()
    formgrader = Formgrader(page, instructor)

    dialog = formgrader.click_icon(LAB, "assign")
    expect(dialog).to_contain_text(f"Successfully created the student version of '{LAB}':")
    formgrader.close(dialog)
    assert built.read_bytes() == as_built, "nbgrader's release differs from the one that gradlab build wrote"

    formgrader.follow("2", to=f"manage_submissions/{LAB}")  # the number of submissions
    ada = formgrader.find_row("ada")
    expect(ada.locator("td.status")).to_have_text("needs autograding")
    dialog = formgrader.click_icon("ada", "autograde")
    expect(dialog).to_contain_text(f"Successfully autograded '{LAB}' for student 'ada'.")
    formgrader.close(dialog)
    expect(ada.locator("td.status")).to_have_text("graded")
    expect(ada.locator("td.score")).to_have_text("1.5 / 2")
    expect(formgrader.find_row("grace").locator("td.status")).to_have_text("needs autograding")

    with Gradebook(f"sqlite:///{instructor.folder / 'gradebook.db'}") as gradebook:
        submission = gradebook.find_submission(LAB, "ada")
        assert (submission.score, submission.max_score, submission.needs_manual_grade) == (1.5, 2, False)

    # The page for grading by hand shows each check, hidden ones too, and its points.
    formgrader.follow("Manual Grading", to="gradebook")
    formgrader.follow(LAB, to=f"gradebook/{LAB}")
    formgrader.follow(LAB, to=f"gradebook/{LAB}/{LAB}")  # the lab's only notebook
    formgrader.follow("Submission #1", to=r"submissions/\w+/?")
    checks = formgrader.frame.locator(".gradlab-card > div")  # nbgrader leaves the card no style, role or label
    passed, failed = (checks.filter(has=formgrader.frame.get_by_text(word, exact=True)) for word in ("pass", "fail"))
    expect(passed).to_have_count(3)
    expect(failed).to_have_count(1)
    expect(failed).to_contain_text("x keeps its values")
    expect(formgrader.frame.locator("input.score")).to_have_attribute("placeholder", "1.5")


PAGES = (
    "manage_assignments",
    "manage_students",
    "manage_students/ada",
    f"manage_students/ada/{LAB}",
    f"manage_submissions/{LAB}",
    "gradebook",
    f"gradebook/{LAB}",
    f"gradebook/{LAB}/{LAB}",
)


@pytest.mark.nightly
def test_every_link_of_the_formgrader_leads_to_a_page(small_course: Path, page: Page, tmp_path: Path) -> None:
    """Slow: starts JupyterLab. Its address has a prefix, as on a hub."""
    folder = small_course / "autograded" / "ada" / LAB
    shutil.copytree(small_course / "release" / LAB, folder)
    shutil.copytree(folder, small_course / "submitted" / "ada" / LAB)
    with Gradebook(f"sqlite:///{small_course / 'gradebook.db'}") as gradebook:
        gradebook.update_or_create_assignment(LAB)
        gradebook.update_or_create_notebook(LAB, LAB)
        gradebook.add_student("ada")
        submission = gradebook.add_submission(LAB, "ada").notebooks[0].id
    prefix = "/services/teach-course/"
    options = (
        f"--ServerApp.root_dir={small_course}",
        "--ServerApp.ip=127.0.0.1",
        "--ServerApp.port=0",
        f"--ServerApp.base_url={prefix}",
    )
    with run_lab_server(small_course, tmp_path, options=options) as server:
        page.goto(server.address("lab"))
        links = set[str]()
        for name in (*PAGES, f"submissions/{submission}/"):
            page.goto(f"{server.url}formgrader/{name}", wait_until="networkidle")
            links |= set(page.locator("a[href]").evaluate_all("links => links.map((link) => link.href)"))
        assert f"{server.url}lab/tree/autograded/ada/{LAB}/{LAB}.ipynb" in links
        assert f"{server.url}lab/tree/source/{LAB}" in links
        own = {link for link in links if link.startswith(server.url.removesuffix(prefix))}
        assert {link for link in own if not link.startswith(server.url) or not page.request.get(link).ok} == set()
