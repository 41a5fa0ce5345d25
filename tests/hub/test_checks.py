"""What gradlab hub check finds, and that its cures cure."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.base.folder_readers import describe_readers
from autograder.hub import checks
from autograder.hub.checks import check_hub
from autograder.hub.settings import read_settings
from tests.conftest import ROOT
from tests.hub.hub_process import draw_port
from tests.hub.system_class import explain_missing, make_accounts, make_environment


def end_demo(folder: Path) -> None:
    path = folder / "hub.toml"
    path.write_text(path.read_text().replace("demo = true\n", ""))


def replace_line(folder: Path, key: str, value: str) -> None:
    path = folder / "hub.toml"
    lines = [line for line in path.read_text().splitlines() if not line.startswith(f"{key} =")]
    path.write_text("\n".join([f"{key} = {value}", *lines]) + "\n")


def list_problems(folder: Path) -> str:
    return "\n".join(f"{each.problem} FIX {each.cure}" for each in check_hub(read_settings(folder / "hub.toml")))


@pytest.fixture
def equipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that a hub needs, whatever this machine has."""
    monkeypatch.setattr(checks, "find_node", lambda: Path("/usr/bin/node"))
    monkeypatch.setattr(checks, "read_node_version", lambda node: (24, 1))
    monkeypatch.setattr(checks, "find_proxy", lambda path: Path("/usr/bin/configurable-http-proxy"))


@pytest.mark.usefixtures("equipped")
def test_a_closed_hub_has_no_findings(folder: Path) -> None:
    assert list_problems(folder) == ""


@pytest.mark.usefixtures("equipped")
def test_a_course_that_everyone_can_read_is_found(folder: Path) -> None:
    course = folder.parent / "physics"
    course.chmod(0o755)
    assert describe_readers(course) == "everyone on this machine"
    assert f"everyone on this machine can read {course}" in list_problems(folder)
    assert f"FIX chmod 700 {course}" in list_problems(folder)
    folder.parent.chmod(0o700)
    assert describe_readers(course) == ""


@pytest.mark.usefixtures("equipped")
@pytest.mark.parametrize("name", ["exchange", "jupyterhub.sqlite", "jupyterhub_cookie_secret", "homes"])
def test_files_of_the_hub_that_others_can_read_are_found(folder: Path, name: str) -> None:
    (folder / name).mkdir() if "." not in name and "_" not in name else (folder / name).touch()
    (folder / name).chmod(0o644)
    assert f"others can read {folder / name} FIX chmod go= {folder / name}" in list_problems(folder)


@pytest.mark.usefixtures("equipped")
def test_a_hub_that_others_can_write_to_is_found(folder: Path) -> None:
    folder.chmod(0o777)
    assert f"others can write to {folder} FIX chmod go-w {folder}" in list_problems(folder)


@pytest.mark.usefixtures("equipped")
def test_a_course_with_another_exchange_is_found(folder: Path) -> None:
    config = folder.parent / "chemistry" / "nbgrader_config.py"
    config.write_text("c = get_config()\nc.CourseDirectory.course_id = 'chemistry'\n")
    assert "doesn't name the hub's exchange FIX add these lines" in list_problems(folder)


@pytest.mark.usefixtures("equipped")
@pytest.mark.parametrize(
    ("address", "is_found"),
    [("http://0.0.0.0:8000", True), ("https://0.0.0.0:8000", False), ("http://127.0.0.1:8000", False)],
)
def test_an_address_that_other_machines_reach_needs_tls(folder: Path, address: str, is_found: bool) -> None:
    end_demo(folder)
    replace_line(folder, "address", f'"{address}"')
    assert ("without TLS" in list_problems(folder)) is is_found


def test_programs_that_are_missing_or_too_old_are_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "find_node", lambda: Path("/usr/bin/node"))
    monkeypatch.setattr(checks, "read_node_version", lambda node: (18, 19))
    monkeypatch.setattr(checks, "find_proxy", lambda path: None)
    problems = list_problems(folder)
    assert "/usr/bin/node is Node 18.19; the proxy needs 22.12 FIX" in problems
    assert "configurable-http-proxy isn't installed FIX" in problems
    monkeypatch.setattr(checks, "find_node", lambda: None)
    assert "there is no Node" in list_problems(folder)


@pytest.mark.usefixtures("equipped")
def test_an_interpreter_that_students_cannot_run_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    end_demo(folder)
    closed = folder.parent / "closed"
    (closed / "bin").mkdir(parents=True)
    (closed / "bin" / "python").touch()
    closed.chmod(0o700)
    monkeypatch.setattr(checks.sys, "executable", str(closed / "bin" / "python"))
    assert f"other users can't enter {closed}" in list_problems(folder)


@pytest.mark.usefixtures("equipped")
def test_a_port_that_another_program_uses_is_found(folder: Path) -> None:
    hub = read_settings(folder / "hub.toml")
    with socket.create_server(("127.0.0.1", hub.internal_port)):
        assert f"another program uses port {hub.internal_port} of this machine" in list_problems(folder)
    assert list_problems(folder) == ""


@dataclass(frozen=True)
class Department:
    """An administrator's machine: a hub that is in order, and the accounts of its users."""

    place: Path
    python: str
    names: dict[str, str]

    @property
    def hub(self) -> Path:
        return self.place / "hub"

    @property
    def course(self) -> Path:
        return self.place / "course"

    def check(self) -> str:
        """What `gradlab hub check` prints."""
        return self.run("-m", "autograder.cli", "hub", "check", "--folder", str(self.hub))

    def run(self, *arguments: str) -> str:
        """What the Python that all users share prints, as root."""
        variables = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [self.python, *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=variables, check=False).stdout

    def own(self, path: Path) -> None:
        shutil.chown(path, self.names["grader"], self.names["grader"])


@pytest.fixture(scope="module")
def department() -> Iterator[Department]:
    if reason := explain_missing():
        pytest.skip(reason)
    before = os.umask(0o022)
    roles = ("ana", "prof", "grader", "exchange")
    with (
        tempfile.TemporaryDirectory(dir="/tmp", prefix="gradlab-check-") as folder,
        make_accounts(*roles) as names,
    ):
        place, port = Path(folder), draw_port()
        place.chmod(0o755)
        made = Department(place, make_environment(place / "env"), names)
        made.course.mkdir(mode=0o700)
        config = "c = get_config()\nc.CourseDirectory.course_id = 'gradlab'\n"
        exchange = f"c.Exchange.root = '{made.hub}/exchange/gradlab/nbgrader'\nc.ExchangeCollect.check_owner = False\n"
        (made.course / "nbgrader_config.py").write_text(config + exchange)
        for path in (made.course, made.course / "nbgrader_config.py"):
            made.own(path)
        made.hub.mkdir()
        (made.hub / "hub.toml").write_text(
            f"""address = "http://127.0.0.1:{port}"
internal_port = {port + 1}
exchange_user = "{names["exchange"]}"
[courses.gradlab]
folder = "../course"
students = ["{names["ana"]}"]
teachers = ["{names["prof"]}"]
"""
        )
        (made.hub / "hub.toml").chmod(0o600)
        yield made
    os.umask(before)


def plant_readable_course(place: Department) -> None:
    place.course.chmod(0o755)


def plant_readable_home(place: Department) -> None:
    Path("/home", place.names["ana"]).chmod(0o755)


def plant_readable_database(place: Department) -> None:
    (place.hub / "jupyterhub.sqlite").touch()
    (place.hub / "jupyterhub.sqlite").chmod(0o644)


def plant_writable_hub(place: Department) -> None:
    place.hub.chmod(0o777)


def plant_open_exchange(place: Department) -> None:
    (place.hub / "exchange" / "gradlab").mkdir(parents=True)
    (place.hub / "exchange" / "gradlab").chmod(0o755)


def plant_shared_group(place: Department) -> None:
    subprocess.run(["usermod", "--gid", place.names["grader"], place.names["ana"]], check=True)


def plant_missing_account(place: Department) -> None:
    subprocess.run(["userdel", "--remove", place.names["prof"]], check=True, capture_output=True)


def plant_missing_exchange_user(place: Department) -> None:
    subprocess.run(["userdel", "--remove", place.names["exchange"]], check=True, capture_output=True)


def plant_readable_key(place: Department) -> None:
    for name in ("tls.pem", "tls.key"):
        (place.hub / name).touch(mode=0o644)
    path = place.hub / "hub.toml"
    path.write_text(path.read_text() + '[tls]\ncertificate = "tls.pem"\nkey = "tls.key"\n')


MISTAKES: dict[str, tuple[Callable[[Department], None], str]] = {
    "course": (plant_readable_course, "everyone on this machine can read"),
    "home": (plant_readable_home, "the home of"),
    "database": (plant_readable_database, "jupyterhub.sqlite"),
    "hub": (plant_writable_hub, "others can write to"),
    "exchange": (plant_open_exchange, "with submissions"),
    "account": (plant_missing_account, "there is no system user for"),
    "exchange's user": (plant_missing_exchange_user, "as which the exchange runs"),
    "key": (plant_readable_key, "tls.key"),
}


@pytest.mark.slow
@pytest.mark.gate
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found_and_its_command_cures_it(department: Department, mistake: str) -> None:
    """Slow: accounts are made, and each check tries the sandbox as the course's user."""
    plant, words = MISTAKES[mistake]
    assert department.check().startswith("No problem found.")
    plant(department)
    report = department.check()
    assert words in report and "1 problem found" not in report.splitlines()[0]
    problem, _, cure = report.partition("\n    fix: ")
    assert words in problem
    commands = cure.split("\nor write")[0]
    subprocess.run(["/bin/sh", "-e", "-c", commands], check=True, capture_output=True)
    assert department.check().startswith("No problem found.")


@pytest.mark.slow
@pytest.mark.gate
def test_a_course_whose_owners_group_has_a_student_is_found(department: Department) -> None:
    """Slow: see above. Its cure is tried by hand only, since it takes the course from its group."""
    own = subprocess.run(["id", "-gn", department.names["ana"]], capture_output=True, text=True).stdout.strip()
    plant_shared_group(department)
    try:
        assert f"{department.names['ana']} can read the submissions of gradlab" in department.check()
    finally:
        subprocess.run(["usermod", "--gid", own, department.names["ana"]], check=True)


@pytest.mark.slow
@pytest.mark.gate
def test_a_course_that_belongs_to_root_or_to_a_student_is_found(department: Department) -> None:
    """Slow: see above."""
    for owner, words in (("root", "belongs to root"), (department.names["ana"], "who is a student")):
        for path in (department.course, department.course / "nbgrader_config.py"):
            shutil.chown(path, owner)
        assert words in department.check()
    for path in (department.course, department.course / "nbgrader_config.py"):
        department.own(path)


@pytest.mark.slow
@pytest.mark.gate
def test_a_configuration_that_fails_is_found_and_never_runs_as_root(department: Department) -> None:
    """Slow: see above."""
    config = department.course / "nbgrader_config.py"
    text = config.read_text()
    config.write_text("import os\nraise RuntimeError(f'as {os.geteuid()}')\n")
    report = department.check()
    assert "as 0" not in report and f"as {config.stat().st_uid}" in report
    config.write_text(text)


@pytest.mark.slow
@pytest.mark.gate
def test_a_weak_sandbox_is_found(department: Department) -> None:
    """Slow: see above."""
    code = (
        "import sys; from autograder.hub import account_checks, checks, settings; "
        "account_checks.PRINT_LEVEL = 'print(\"same-user\")'; "
        "print([each.problem for each in checks.check_hub(settings.read_settings(sys.argv[1]))])"
    )
    assert "at the level same-user only, not full" in department.run("-c", code, str(department.hub / "hub.toml"))
