"""Every released lab in JupyterLab's window: all cells run, all pictures show, and their controls change them."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_pages import NotebookPage, describe_frame
from playwright.sync_api import Page, expect

from tests.lab_server import LabServer, run_lab_server

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

RELEASE = Path(__file__).parents[2] / "release"
LABS = sorted(path.name for path in RELEASE.iterdir() if path.is_dir())


@pytest.fixture
def student(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    folder = tmp_path_factory.mktemp("student")
    shutil.copytree(RELEASE, folder, dirs_exist_ok=True)
    with run_lab_server(folder, tmp_path_factory.mktemp("home")) as server:
        yield server


@pytest.mark.parametrize("lab", LABS)
def test_a_released_lab_runs_from_its_first_cell_to_its_last(student: LabServer, page: Page, lab: str) -> None:
    notebook = NotebookPage(page, student, f"{lab}/{lab}.ipynb")
    notebook.run_all()

    # The lab catches failures that are on purpose, and an unwritten exercise doesn't block the next section.
    expect(page.locator('[data-mime-type="application/vnd.jupyter.error"]')).to_have_count(0)
    pictures = page.locator(".jp-OutputArea img")
    assert pictures.evaluate_all("all => all.every(one => one.complete && one.naturalWidth > 0)")
    for picture in page.locator(".gradlab-picture").all():
        choices = picture.locator("[role=group] > button[aria-pressed]").all()
        frames = {describe_frame(picture)}
        step = picture.get_by_role("button", name="next above")
        for choice in choices:
            choice.click()
            if step.count():
                step.click()  # if a choice only affects the next control
            frames.add(describe_frame(picture))
        assert len(frames) > 1 or len(choices) < 2, "no choice changes the picture"
