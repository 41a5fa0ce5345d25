"""Mistakes of a hub's administrator, on a machine with accounts: gradlab hub check finds each, and its cure cures it."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from tests.conftest import ROOT
from tests.hub.hub_process import draw_port
from tests.hub.system_class import explain_missing, make_accounts, make_environment


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

    def run(self, *arguments: str, stream: Literal["stdout", "stderr"] = "stdout") -> str:
        """What the Python that all users share prints, as root."""
        variables = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [self.python, *arguments]
        process = subprocess.run(command, capture_output=True, text=True, env=variables, check=False)
        return str(getattr(process, stream))

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


def plant_readable_roster(place: Department) -> None:
    (place.hub / "roster.csv").write_text(f"id,email\n{place.names['ana']},ana@example.edu\n")
    (place.hub / "roster.csv").chmod(0o644)
    path = place.hub / "hub.toml"
    path.write_text(path.read_text().replace(f'students = ["{place.names["ana"]}"]', 'students = "roster.csv"'))


def plant_home_of_another(place: Department) -> None:
    shutil.chown(Path("/home", place.names["ana"]), place.names["prof"])


def plant_gradebook_of_root(place: Department) -> None:
    (place.course / "gradebook.db").touch(mode=0o600)


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
    "roster": (plant_readable_roster, "with the students' names and addresses"),
    "home of another": (plant_home_of_another, "belongs to"),
    "gradebook of root": (plant_gradebook_of_root, "gradebook.db (root)"),
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
@pytest.mark.parametrize(("role", "words"), [("", "belongs to root"), ("prof", "can't enter")])
def test_a_course_in_another_users_home_goes_to_that_user(department: Department, role: str, words: str) -> None:
    """Slow: see above."""
    private, link = department.place / "home", department.course
    private.mkdir(mode=0o700)
    department.own(private)
    course = link.rename(private / "course")
    link.symlink_to(course)
    try:
        for path in (course, *course.rglob("*")):
            shutil.chown(path, department.names.get(role, "root"))
        problem, _, cure = department.check().partition("\n    fix: ")
        assert words in problem
        assert cure.strip() == f"chown -R {department.names['grader']}: {course}"
        subprocess.run(["/bin/sh", "-e", "-c", cure], check=True)
        assert department.check().startswith("No problem found.")
    finally:
        link.unlink()
        course.rename(link)
        private.rmdir()


@pytest.mark.slow
@pytest.mark.gate
def test_a_first_start_without_the_exchanges_user_ends_with_its_cure(department: Department) -> None:
    """Slow: see above."""
    path = department.hub / "hub.toml"
    text = path.read_text()
    path.write_text(text.replace(department.names["exchange"], "nobody-is-called-so"))
    try:
        command = ("-m", "autograder.cli", "hub", "--folder", str(department.hub))
        output = department.run(*command, stream="stderr")
    finally:
        path.write_text(text)
    assert "there is no system user nobody-is-called-so, as which the exchange runs\n    fix: useradd" in output
    assert "the hub doesn't start like this" in output and "Traceback" not in output


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
