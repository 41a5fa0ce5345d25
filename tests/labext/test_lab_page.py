"""A lab's page opens its notebook, and fetches the lab from the class's exchange if it isn't there."""

import html
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from tests.lab_server import LabServer, run_lab_server

LAB = "01_squares"


@pytest.fixture(scope="module")
def student(built_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """The server of a student whose class has a shared exchange."""
    root, place = tmp_path_factory.mktemp("student"), tmp_path_factory.mktemp("class")
    exchange = place / "exchange"
    shutil.copytree(built_course / "release" / LAB, exchange / "gradlab" / "outbound" / LAB)
    exchange.chmod(0o777)
    config = f'c = get_config()\nc.CourseDirectory.course_id = "gradlab"\nc.Exchange.root = "{exchange}"\n'
    (root / "nbgrader_config.py").write_text(config)
    with run_lab_server(root, place, course=True, start=("jupyter_server",)) as server:
        yield server


def open_page(server: LabServer, lab: str, **headers: str) -> requests.Response:
    session = requests.Session()
    session.trust_env = False
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    headers |= {"Authorization": f"token {server.token}"}
    return session.get(f"{server.url}gradlab/labs/{lab}", headers=headers, allow_redirects=False)


@pytest.mark.slow
def test_a_lab_is_fetched_once_and_opened(student: LabServer, built_course: Path) -> None:
    """Slow: a server starts."""
    notebook = student.folder / LAB / f"{LAB}.ipynb"
    for text in ((built_course / "release" / LAB / f"{LAB}.ipynb").read_text(), "the student's own work"):
        answer = open_page(student, LAB)
        assert (answer.status_code, urlsplit(answer.headers["Location"]).path) == (
            302,
            f"/lab/tree/{LAB}/{LAB}.ipynb",
        )
        if text.startswith("{"):
            assert notebook.read_text() == text
            notebook.write_text("the student's own work")
    assert notebook.read_text() == "the student's own work"


@pytest.mark.slow
def test_a_notebook_that_was_removed_returns_and_other_files_stay(student: LabServer) -> None:
    """Slow: see above."""
    open_page(student, LAB)
    (student.folder / LAB / f"{LAB}.ipynb").unlink()
    (student.folder / LAB / "notes.txt").write_text("mine")
    assert open_page(student, LAB).status_code == 302
    assert (student.folder / LAB / f"{LAB}.ipynb").is_file()
    assert (student.folder / LAB / "notes.txt").read_text() == "mine"


@pytest.mark.slow
def test_a_lab_that_cannot_be_fetched_is_reported(student: LabServer) -> None:
    """Slow: see above."""
    answer = open_page(student, "99_later")
    assert answer.status_code == 404 and "99_later isn't released yet" in html.unescape(answer.text), answer.text
    answer = open_page(student, f"{LAB}2?course=another")
    assert answer.status_code == 404 and "isn't released yet" in html.unescape(answer.text)
    for name in ("%2e%2e", "..%2f..", ".ssh", f"{LAB}?course=..%2f.."):
        assert open_page(student, name).status_code == 404


@pytest.mark.slow
def test_no_part_of_another_page_fetches_a_lab(student: LabServer) -> None:
    """Slow: see above."""
    assert open_page(student, LAB, Sec_Fetch_Dest="image").status_code == 403
