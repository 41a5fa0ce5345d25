"""The formgrader in the server that an instructor is logged in to: nothing of a student's acts there as its reader."""

import json
import os
import urllib.error
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from labext.formgrader import may_configure
from tests.lab_server import DIRECT, LabServer, lab_server

LAB = "01_squares"
FILES = ("evil.html", "evil.svg", "evil.xhtml", "evil.xml", "evil", "data/evil.htm", "plot.png")
SCRIPT = "<html><svg xmlns='http://www.w3.org/2000/svg'><script>fetch('/api/contents')</script></svg></html>"


@pytest.fixture
def server(small_course: Path, tmp_path: Path) -> Iterator[LabServer]:
    """A server on a course, with nbgrader's formgrader."""
    home = tmp_path / "home"
    (home / "config").mkdir(parents=True)
    enable = {"ServerApp": {"jpserver_extensions": {"nbgrader.server_extensions.formgrader": True}}}
    (home / "config" / "jupyter_server_config.json").write_text(json.dumps(enable))
    with lab_server(small_course, home, course=True, start=("jupyter_server",)) as server:
        yield server


@pytest.mark.slow
def test_no_file_of_a_submission_is_a_page_that_may_run_a_script(server: LabServer) -> None:
    """Slow: a server starts."""
    folder = server.folder / "autograded" / "mallory" / LAB
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(SCRIPT)
    with Gradebook(f"sqlite:///{server.folder / 'gradebook.db'}") as gradebook:
        gradebook.add_assignment(LAB)
        gradebook.add_notebook(LAB, LAB)
        gradebook.add_student("mallory")
        submission = gradebook.add_submission(LAB, "mallory").notebooks[0].id
    for name in FILES:
        with DIRECT.open(server.address(f"formgrader/submissions/{submission}/{name}")) as response:
            assert response.read().decode() == SCRIPT
            policies = [each.strip() for each in response.headers["Content-Security-Policy"].split(";")]
            assert "sandbox" in policies and "default-src 'none'" in policies, name
            assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.slow
def test_a_students_name_is_a_text(server: LabServer) -> None:
    """Slow: a server starts."""
    name = "<img src=x onerror=alert(1)>"
    with Gradebook(f"sqlite:///{server.folder / 'gradebook.db'}") as gradebook:
        gradebook.add_assignment(LAB)
        gradebook.add_notebook(LAB, LAB)
        gradebook.add_student("mallory", first_name=name, last_name=name)
        gradebook.add_student(name)
        ids = [gradebook.add_submission(LAB, student).notebooks[0].id for student in ("mallory", name)]
    folder = server.folder / "autograded" / "mallory" / LAB
    folder.mkdir(parents=True)
    (folder / f"{LAB}.ipynb").write_bytes((server.folder / "release" / LAB / f"{LAB}.ipynb").read_bytes())
    with DIRECT.open(server.address(f"formgrader/submissions/{ids[0]}/")) as response:
        page = response.read().decode()
    assert "<img src=x" not in page and "&lt;img src=x" in page
    for path in (f"submissions/{ids[1]}/", "gradebook/%3Cimg%20src=x%3E/n", "manage_submissions/%3Cimg%20src=x%3E"):
        try:
            with DIRECT.open(server.address(f"formgrader/{path}")) as response:
                page = response.read().decode()
        except urllib.error.HTTPError as error:  # of the second student no notebook is there
            page = error.read().decode()
        assert "<img" not in page, path


@pytest.mark.slow
def test_no_address_makes_it_run_a_configuration_of_someone_elses(server: LabServer, tmp_path: Path) -> None:
    """Slow: a server starts. A picture in a submission can name any address of this server."""
    trace = tmp_path / "it_ran"
    handed_in, shared = server.folder / "submitted" / "mallory" / LAB, tmp_path / "shared"
    for folder in (handed_in, shared):
        folder.mkdir(parents=True)
        (folder / "nbgrader_config.py").write_text(f"open({str(trace)!r}, 'w')\n")
    shared.chmod(0o777)
    for folder in (handed_in, shared):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            DIRECT.open(f"{server.address('formgrader')}&path={folder}")
    assert not trace.exists()


def test_a_folder_of_the_servers_own_user_may_configure_it(tmp_path: Path) -> None:
    course, theirs = tmp_path / "course", tmp_path / "theirs"
    for folder in (course, theirs, tmp_path / "submitted"):
        folder.mkdir()
        (folder / "nbgrader_config.py").touch()
    assert may_configure(course, tmp_path)
    assert not may_configure(tmp_path / "submitted", tmp_path) and not may_configure(tmp_path / "missing", tmp_path)
    if os.getuid() == 0:
        os.chown(theirs / "nbgrader_config.py", 12345, 12345)
        assert not may_configure(theirs, tmp_path)
