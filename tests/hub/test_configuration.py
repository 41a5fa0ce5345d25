"""What configure() sets: who may do what on the hub, and how each service starts."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from traitlets.config import Config

from autograder.hub import checks, configure
from autograder.hub.checks import check_hub, describe_readers
from autograder.hub.configuration import PASSWORD
from autograder.hub.settings import read_settings

COURSES = {"physics": ("ana", "ben"), "chemistry": ("ben",)}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A hub's folder, next to two courses, where other users of the machine can reach it."""
    before = os.umask(0o022)
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        os.chmod(place, 0o755)
        hub, tables = Path(place, "hub"), []
        hub.mkdir(mode=0o700)
        for name, students in COURSES.items():
            course = Path(place, name)
            course.mkdir(mode=0o700)
            (course / "nbgrader_config.py").write_text(
                f"c = get_config()\nc.CourseDirectory.course_id = '{name}'\n"
                f"c.Exchange.root = '{hub}/exchange/{name}/nbgrader'\nc.ExchangeCollect.check_owner = False\n"
            )
            tables.append(f'[courses.{name}]\nfolder = "../{name}"\nstudents = {list(students)}\nteachers = ["prof"]\n')
        (hub / "hub.toml").write_text("demo = true\n" + "".join(tables))
        yield hub
    os.umask(before)


def read_configuration(folder: Path) -> Config:
    config = Config()
    configure(config, str(folder / "hub.toml"))
    return config


def make_user(*groups: str) -> Any:
    return SimpleNamespace(groups=[SimpleNamespace(name=name) for name in groups])


def set_key(folder: Path, key: str, value: str) -> None:
    path = folder / "hub.toml"
    path.write_text(f"{key} = {value}\n" + path.read_text())


def test_groups_have_the_names_that_nbgrader_gives_them(folder: Path) -> None:
    assert read_configuration(folder).JupyterHub.load_groups == {
        "nbgrader-physics": {"users": ["ana", "ben"]},
        "formgrade-physics": {"users": ["prof"]},
        "nbgrader-chemistry": {"users": ["ben"]},
        "formgrade-chemistry": {"users": ["prof"]},
    }


def test_only_a_courses_teachers_reach_its_place_for_teachers(folder: Path) -> None:
    roles = {role["name"]: role for role in read_configuration(folder).JupyterHub.load_roles}
    assert roles["teach-physics"]["groups"] == ["formgrade-physics"]
    assert "access:services!service=teach-physics" in roles["teach-physics"]["scopes"]
    students = [role for role in roles.values() if "nbgrader-physics" in role.get("groups", ())]
    assert [role["scopes"] for role in students] == [["access:services!service=exchange"]]


def test_the_token_in_a_students_server_reaches_that_server_and_the_exchange_only(folder: Path) -> None:
    assert read_configuration(folder).Spawner.server_token_scopes == [
        "users:activity!user",
        "access:servers!user",
        "access:services!service=exchange",
    ]


@pytest.mark.parametrize(
    ("groups", "course"),
    [(["nbgrader-physics"], "physics"), (["nbgrader-physics", "nbgrader-chemistry"], ""), (["others"], "")],
)
def test_a_students_server_knows_the_course_if_there_is_only_one(folder: Path, groups: list[str], course: str) -> None:
    variables = read_configuration(folder).Spawner.environment
    assert variables["GRADLAB_COURSE"](SimpleNamespace(user=make_user(*groups))) == course
    assert Path(variables["JUPYTER_CONFIG_PATH"].split(os.pathsep)[0], "nbgrader_config.py").is_file()


def test_a_teacher_begins_in_the_course_and_a_student_in_their_own_server(folder: Path) -> None:
    choose = read_configuration(folder).JupyterHub.default_url
    assert choose(SimpleNamespace(current_user=make_user("formgrade-chemistry"))) == "/services/teach-chemistry/lab"
    assert choose(SimpleNamespace(current_user=make_user("nbgrader-chemistry"))) == ""
    assert choose(SimpleNamespace(current_user=None)) == ""


def test_services_listen_on_this_machine_at_different_ports(folder: Path) -> None:
    services = read_configuration(folder).JupyterHub.services
    urls = [service["url"] for service in services if "url" in service]
    assert len(set(urls)) == 3 and all(url.startswith("http://127.0.0.1:") for url in urls)
    assert {service["name"] for service in services} == {
        *("exchange", "teach-physics", "watch-physics", "teach-chemistry", "watch-chemistry", "stop-idle-servers"),
    }


def test_in_a_demo_one_password_is_needed_and_no_other_user_is_admitted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASSWORD, "a drawn password")
    config = read_configuration(folder)
    assert config.JupyterHub.authenticator_class == "shared-password"
    assert config.SharedPasswordAuthenticator.user_password == "a drawn password"
    assert config.Authenticator.allowed_users == {"ana", "ben", "prof"}


def test_without_demo_no_service_runs_as_root(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "hub.toml"
    path.write_text(path.read_text().replace("demo = true\n", ""))
    monkeypatch.setattr(Path, "owner", lambda path: "grader")
    config = read_configuration(folder)
    users = {service["name"]: service["user"] for service in config.JupyterHub.services}
    assert users["watch-physics"] == users["teach-physics"] == "grader"
    assert users["exchange"] == "gradlab-exchange"
    assert users["stop-idle-servers"] == "nobody"
    assert "spawner_class" not in config.JupyterHub and "authenticator_class" not in config.JupyterHub


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
    path = folder / "hub.toml"
    path.write_text(path.read_text().replace("demo = true\n", ""))
    set_key(folder, "address", f'"{address}"')
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
    path = folder / "hub.toml"
    path.write_text(path.read_text().replace("demo = true\n", ""))
    closed = folder.parent / "closed"
    (closed / "bin").mkdir(parents=True)
    (closed / "bin" / "python").touch()
    closed.chmod(0o700)
    monkeypatch.setattr(checks.sys, "executable", str(closed / "bin" / "python"))
    assert f"other users can't enter {closed}" in list_problems(folder)
