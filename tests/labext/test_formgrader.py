"""An instructor's server: nothing of a student's can act with the instructor's login."""

import json
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from nbgrader.api import Gradebook

from labext.workspace import can_configure, find_workspace
from tests.lab_server import DIRECT, LabServer, ask_extension, run_lab_server

LAB = "01_squares"
FILES = ("evil.html", "evil.svg", "evil.xhtml", "evil.xml", "evil", "data/evil.htm", "plot.png")
SCRIPT = "<html><svg xmlns='http://www.w3.org/2000/svg'><script>fetch('/api/contents')</script></svg></html>"


@pytest.fixture(scope="module")
def server(built_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A server on a course, with nbgrader's formgrader. Each test has a student of its own."""
    home = tmp_path_factory.mktemp("home")
    (home / "config").mkdir()
    enable = {"ServerApp": {"jpserver_extensions": {"nbgrader.server_extensions.formgrader": True}}}
    (home / "config" / "jupyter_server_config.json").write_text(json.dumps(enable))
    course = shutil.copytree(built_course, tmp_path_factory.mktemp("taught") / "course")
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        gradebook.update_or_create_assignment(LAB)
        gradebook.update_or_create_notebook(LAB, LAB)
    with run_lab_server(course, home, course=True, start=("jupyter_server",)) as server:
        yield server


@pytest.mark.slow
def test_no_file_of_a_submission_is_a_page_that_may_run_a_script(server: LabServer) -> None:
    """Slow: a server starts."""
    folder = server.folder / "autograded" / "mallory" / LAB
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(SCRIPT)
    with Gradebook(f"sqlite:///{server.folder / 'gradebook.db'}") as gradebook:
        gradebook.add_student("mallory")
        submission = gradebook.add_submission(LAB, "mallory").notebooks[0].id
    (server.folder / "own.html").write_text(SCRIPT)
    paths = [
        f"{start}/{name}"
        for name in FILES
        for start in (
            f"formgrader/submissions/{submission}",
            f"files/autograded/mallory/{LAB}",
            f"files/%61utograded/mallory/{LAB}",
        )
    ]
    for name in paths:
        with DIRECT.open(server.address(name)) as response:
            assert response.read().decode() == SCRIPT
            policies = [each.strip() for each in response.headers["Content-Security-Policy"].split(";")]
            assert "sandbox" in policies and "default-src 'none'" in policies, name
            assert response.headers["X-Content-Type-Options"] == "nosniff"
    with DIRECT.open(server.address("files/own.html")) as response:
        assert "sandbox allow-scripts" in response.headers["Content-Security-Policy"]
    with pytest.raises(urllib.error.HTTPError, match="403"):
        DIRECT.open(urllib.request.Request(server.address("logout"), headers={"Sec-Fetch-Dest": "image"}))


@pytest.mark.slow
def test_a_students_name_is_shown_as_text(server: LabServer) -> None:
    """Slow: a server starts."""
    name = "<img src=x onerror=alert(1)>"
    with Gradebook(f"sqlite:///{server.folder / 'gradebook.db'}") as gradebook:
        gradebook.add_student("trudy", first_name=name, last_name=name)
        gradebook.add_student(name)
        ids = [gradebook.add_submission(LAB, student).notebooks[0].id for student in ("trudy", name)]
    folder = server.folder / "autograded" / "trudy" / LAB
    folder.mkdir(parents=True)
    (folder / f"{LAB}.ipynb").write_bytes((server.folder / "release" / LAB / f"{LAB}.ipynb").read_bytes())
    with DIRECT.open(server.address(f"formgrader/submissions/{ids[0]}/")) as response:
        page = response.read().decode()
    assert "<img src=x" not in page and "&lt;img src=x" in page
    for path in (f"submissions/{ids[1]}/", "gradebook/%3Cimg%20src=x%3E/n", "manage_submissions/%3Cimg%20src=x%3E"):
        try:
            with DIRECT.open(server.address(f"formgrader/{path}")) as response:
                page = response.read().decode()
        except urllib.error.HTTPError as error:  # the second student has no notebook
            page = error.read().decode()
        assert "<img" not in page, path


@pytest.mark.slow
def test_no_address_makes_it_run_a_configuration_of_another_user(server: LabServer, tmp_path: Path) -> None:
    """Slow: a server starts. A picture in a submission can name any address of this server."""
    trace = tmp_path / "it_ran"
    submission, shared = server.folder / "submitted" / "eve" / LAB, tmp_path / "shared"
    for folder in (submission, shared):
        folder.mkdir(parents=True)
        (folder / "nbgrader_config.py").write_text(f"open({str(trace)!r}, 'w')\n")
    shared.chmod(0o777)
    (server.folder / "source" / "link").symlink_to(shared)
    for name in ("jupyter_config.py", "nbgrader_config.py"):
        (shared / name).write_text(f"open({str(trace)!r}, 'w')\n")
    for path in (
        submission,
        shared,
        f"{shared}/../shared",
        server.folder / "source" / "link",
        server.folder / "source",
    ):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            DIRECT.open(f"{server.address('formgrader')}&path={path}")
    course_address = f"{server.address('formgrader')}&path={server.folder}"
    with pytest.raises(urllib.error.HTTPError, match="403"):
        DIRECT.open(urllib.request.Request(course_address, headers={"Sec-Fetch-Dest": "image"}))
    DIRECT.open(course_address).close()
    assert not trace.exists()


def list_children(server: LabServer) -> list[psutil.Process]:
    """The graders that the server has started."""
    return [
        p
        for p in psutil.process_iter()
        if str(server.folder) in " ".join(_read_command(p)) and "mark" in _read_command(p)
    ]


def _read_command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.mark.slow
def test_opening_a_submission_that_brings_a_course_runs_nothing(server: LabServer, tmp_path: Path) -> None:
    """Slow: a server starts."""
    trace, course = tmp_path / "it_ran", server.folder
    content = json.loads((course / "release" / LAB / f"{LAB}.ipynb").read_text())
    for cell in content["cells"]:
        if cell["metadata"].get("gradlab", {}).get("kind") == "exercise":
            cell["source"] = "something = 'was written'"
    submission = course / "submitted" / "mallory" / LAB
    for folder in (
        submission,
        submission / LAB,
    ):  # the second is the place of a student's copy, if the first were the root
        shutil.copytree(course / "source" / LAB, folder / "source" / LAB)
        (folder / f"{LAB}.ipynb").write_text(json.dumps(content))
        (folder / "nbgrader_config.py").write_text(f"open({str(trace)!r}, 'w')\n")
    for path in (submission, submission / LAB):
        notebook = (path / f"{LAB}.ipynb").relative_to(course).as_posix()
        assert ask_extension(server, "state", {"path": notebook, "notebook": content})[0] == 200
        assert ask_extension(server, "mark", {"path": notebook, "agreed": True})[0] == 409
        assert ask_extension(server, f"page/{notebook}")[0] == 404
    assert not list_children(server)
    assert not trace.exists()


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course in a served folder."""
    (tmp_path / "course" / "source").mkdir(parents=True)
    (tmp_path / "course" / "nbgrader_config.py").touch()
    return tmp_path / "course"


def test_the_course_of_the_server_may_configure_the_formgrader(course: Path) -> None:
    for path in (str(course), f"{course}/source/.."):
        assert can_configure(path, find_workspace(course))
        assert can_configure(path, find_workspace(course.parent, [str(course)])), "and one that is listed"


def test_a_folder_next_to_it_that_looks_like_a_course_may_not_configure_it(course: Path) -> None:
    """It could be a submission that an instructor unpacked, before the server started or after."""
    copy = course.parent / "Downloads" / "mallory"
    shutil.copytree(course, copy)
    for workspace in (
        find_workspace(course.parent),
        find_workspace(course),
        find_workspace(course.parent, [str(course)]),
    ):
        assert not can_configure(str(copy), workspace)


@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_a_folder_that_others_can_write_may_not_configure_it(course: Path, mode: int) -> None:
    workspace = find_workspace(course)
    course.chmod(mode)
    assert not can_configure(str(course), workspace)


def test_a_course_inside_another_or_among_submissions_may_not_configure_it(course: Path) -> None:
    inner = course / "autograded" / "mallory" / LAB
    for folder in (inner, course / "source" / "x"):
        shutil.copytree(course, folder, ignore=shutil.ignore_patterns("x", "autograded"))
        assert not can_configure(str(folder), find_workspace(course))


def test_no_link_in_a_path_is_followed(course: Path) -> None:
    """nbgrader removes `link/..` as text, and reads next to the link."""
    foreign_folder = course.parent / "theirs"
    foreign_folder.mkdir()
    (foreign_folder / "link").symlink_to(course / "source")
    (course.parent / "to_it").symlink_to(course)
    for path in (foreign_folder / "link" / "..", course.parent / "to_it"):
        assert not can_configure(str(path), find_workspace(course, [str(course.parent / "to_it")]))


@pytest.mark.skipif(os.getuid() != 0, reason="a file of another user's needs root")
def test_a_configuration_of_another_user_may_not_configure_it(course: Path) -> None:
    workspace = find_workspace(course)
    os.chown(course / "nbgrader_config.py", 12345, 12345)
    assert not can_configure(str(course), workspace)
