"""What configure() sets: who may do what on the hub, and how each service starts."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from traitlets.config import Config

from autograder.hub import configure, services
from autograder.hub.configuration import PASSWORD


def read_configuration(folder: Path) -> Config:
    config = Config()
    configure(config, str(folder / "hub.toml"))
    return config


def make_user(*groups: str) -> Any:
    return SimpleNamespace(groups=[SimpleNamespace(name=name) for name in groups])


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


def test_a_user_with_several_places_begins_on_the_page_that_leads_to_them(folder: Path) -> None:
    path = folder / "hub.toml"
    path.write_text(path.read_text() + 'assistants = ["eve"]\n')
    config = read_configuration(folder).JupyterHub
    teacher = make_user("formgrade-chemistry", "assist-physics", "formgrade-physics")
    student = make_user("assist-chemistry", "nbgrader-physics")
    for user in (teacher, student):
        assert config.default_url(SimpleNamespace(current_user=user)) == "/hub/home"
    list_pages = config.template_vars["course_pages"]
    assert list_pages(teacher) == [
        ("physics", "/services/teach-physics/lab"),
        ("chemistry", "/services/teach-chemistry/lab"),
    ]
    assert list_pages(student) == [("chemistry: answers to mark", "/services/desk-chemistry/gradlab/desk/")]
    assert list_pages(make_user("nbgrader-physics")) == []


@pytest.mark.parametrize(("interface", "page"), [("", "/lab"), ("lab", "/lab"), ("notebook", "/tree")])
def test_students_work_in_the_interface_of_the_settings(folder: Path, interface: str, page: str) -> None:
    if interface:
        path = folder / "hub.toml"
        path.write_text(f'interface = "{interface}"\n' + path.read_text())
    assert read_configuration(folder).Spawner.default_url == page


def test_services_listen_on_this_machine_at_different_ports(folder: Path) -> None:
    services = read_configuration(folder).JupyterHub.services
    urls = [service["url"] for service in services if "url" in service]
    assert len(set(urls)) == 3 and all(url.startswith("http://127.0.0.1:") for url in urls)
    assert {service["name"] for service in services} == {
        *("exchange", "teach-physics", "watch-physics", "teach-chemistry", "watch-chemistry"),
        *("stop-idle-servers", "roster"),
    }


def test_in_a_demo_one_password_is_needed_and_no_other_user_is_admitted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASSWORD, "a drawn password")
    config = read_configuration(folder)
    assert config.JupyterHub.authenticator_class == "shared-password"
    assert config.SharedPasswordAuthenticator.user_password == "a drawn password"
    assert config.Authenticator.allowed_users == {"ana", "ben", "prof"}


def test_without_demo_only_the_service_that_reads_the_hubs_file_runs_as_root(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "hub.toml"
    path.write_text(path.read_text().replace("demo = true\n", ""))
    monkeypatch.setattr(services, "get_owner_name", lambda path: "grader")
    config = read_configuration(folder)
    users = {service["name"]: service.get("user") for service in config.JupyterHub.services}
    assert [name for name, user in users.items() if user is None] == ["roster"]
    assert users["watch-physics"] == users["teach-physics"] == "grader"
    assert users["exchange"] == "gradlab-exchange"
    assert users["stop-idle-servers"] == "nobody"
    assert "spawner_class" not in config.JupyterHub and "authenticator_class" not in config.JupyterHub
