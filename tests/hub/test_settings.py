"""hub.toml: what is wrong in it is reported with file, line, key and fix, and gradlab hub writes a sound one."""

import os
import re
from pathlib import Path

import pytest

from autograder.base.errors import GradlabError
from autograder.hub.hub_folder import create_settings, prepare_folder
from autograder.hub.settings import read_settings
from tests.conftest import run_main

COURSE = '[courses.physics]\nfolder = "../course"\nteachers = ["prof"]\n'
ROSTER = "id,first_name\nana,Ana\nben,Ben\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a course, a roster and an empty folder for a hub."""
    (tmp_path / "course").mkdir()
    (tmp_path / "hub").mkdir()
    (tmp_path / "course" / "nbgrader_config.py").write_text(
        'c = get_config()\nc.CourseDirectory.course_id = "physics"\n'
    )
    (tmp_path / "roster.csv").write_text(ROSTER)
    return tmp_path


def write(place: Path, text: str) -> Path:
    path = place / "hub" / "hub.toml"
    path.write_text(text)
    return path


def test_a_course_has_the_students_of_its_roster(place: Path) -> None:
    hub = read_settings(write(place, f'{COURSE}students = "../roster.csv"\n'))
    (course,) = hub.courses
    assert (course.name, course.students, course.teachers) == ("physics", ("ana", "ben"), ("prof",))
    assert course.folder == place / "course"
    assert hub.users == ["ana", "ben", "prof"]
    assert (hub.address, hub.is_local, hub.is_demo) == ("http://127.0.0.1:8000", True, False)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{COURSE}student = []\n", r"hub.toml:4: courses.physics.student: there is no such key"),
        (f"{COURSE}students = 3\n", r'hub.toml:4: courses.physics.students: write a list, such as \["NAME"\]'),
        (f"idle_minutes = 'an hour'\n{COURSE}", r"hub.toml:1: idle_minutes: write a whole number"),
        (f'address = "http://127.0.0.1:8000\n{COURSE}', r"hub.toml:1: this can't be read: .* is a quote missing\?"),
        (f"{COURSE}students = ['Ana']\n", r"hub.toml:4: courses.physics.students.*'Ana' can't be a user"),
        (f"{COURSE}students = ['ana+ben']\n", r"'ana\+ben' can't be a user"),
        (f"{COURSE}students = ['../ana']\n", r"'../ana' can't be a user"),
        (COURSE.replace("physics", '"a/b"'), r"'a/b' can't be a course's name"),
        ("", r"courses: "),
        ("address = 8000\n" + COURSE, r"hub.toml:1: address: "),
        ('address = "localhost:8000"\n' + COURSE, r"hub.toml:1: address: write it as http://"),
        ("internal_port = 80\n" + COURSE, r"hub.toml:1: internal_port: "),
        ("internal_port = \n" + COURSE, r"hub.toml:1: this can't be read"),
        (COURSE.replace("../course", "../nowhere"), r"courses.physics.folder: .*nowhere has no nbgrader_config.py"),
        ('demo = true\naddress = "http://0.0.0.0:8000"\n' + COURSE, r"address: a demo shares one system user"),
        (f'{COURSE}students = "../missing.csv"\n', r"missing.csv can't be read"),
    ],
)
def test_a_mistake_is_reported_with_its_key_and_a_fix(place: Path, text: str, problem: str) -> None:
    with pytest.raises(GradlabError, match=problem) as error:
        read_settings(write(place, text))
    assert error.value.fix or "fix: " in str(error.value)


def test_a_roster_with_a_name_that_can_be_no_user_is_refused(place: Path) -> None:
    (place / "roster.csv").write_text("id\nAna\n")
    with pytest.raises(GradlabError, match=r"courses.physics.students: 'Ana' can't be a user"):
        read_settings(write(place, f'{COURSE}students = "../roster.csv"\n'))


def test_the_hub_is_not_inside_a_course(place: Path) -> None:
    path = place / "course" / "hub.toml"
    path.write_text(COURSE.replace("../course", "."))
    with pytest.raises(GradlabError, match="inside the course"):
        read_settings(path)


def test_the_first_start_writes_settings_and_connects_the_course(place: Path) -> None:
    create_settings(place / "new", place / "course", str(place / "roster.csv"), ["prof"], True, 8000)
    hub = read_settings(place / "new" / "hub.toml")
    assert hub.courses[0].students == ("ana", "ben")
    assert len(prepare_folder(hub)) == 1
    config = (place / "course" / "nbgrader_config.py").read_text()
    assert (
        f"c.Exchange.root = '{place}/new/exchange/physics/nbgrader'\nc.ExchangeCollect.check_owner = False\n" in config
    )
    assert prepare_folder(hub) == []
    for path in (place / "new", place / "new" / "exchange", place / "new" / "homes"):
        assert path.stat().st_mode & 0o777 == 0o700


def test_a_course_with_another_exchange_is_left_unchanged(place: Path) -> None:
    config = place / "course" / "nbgrader_config.py"
    config.write_text(config.read_text() + 'c.Exchange.root = "/srv/exchange"\n')
    before = config.read_text()
    hub = read_settings(write(place, "demo = true\n" + COURSE))
    with pytest.raises(GradlabError, match="sets another exchange, /srv/exchange"):
        prepare_folder(hub)
    assert config.read_text() == before


def test_wrong_settings_are_not_kept(place: Path) -> None:
    (place / "roster.csv").write_text("id\nAna\n")
    with pytest.raises(GradlabError, match="'Ana' can't be a user"):
        create_settings(place / "new", place / "course", str(place / "roster.csv"), ["prof"], True, 8000)
    assert not (place / "new" / "hub.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("hub", "there is no hub yet"),
        ("hub course", "a hub needs its students and teachers"),
        ("hub course --students roster.csv", "a hub needs its students and teachers"),
        ("hub start nowhere --demo", "nowhere has no nbgrader_config.py"),
        ("hub course --demo --folder course/hub", "inside the course"),
        ("hub check --folder hub", "hub.toml"),
    ],
)
def test_the_command_says_what_is_missing(place: Path, arguments: str, problem: str) -> None:
    output = re.sub(r"\s+", " ", run_main(arguments, place, status=1))
    assert problem in output and "fix: " in output


def test_without_root_and_without_demo_the_hub_does_not_start(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    output = run_main("hub course --students roster.csv --teachers prof", place, status=1)
    assert "which only root can" in output and "--demo" in output


def test_a_second_start_with_other_students_refers_to_hub_toml(place: Path) -> None:
    write(place, "demo = true\n" + COURSE)
    assert "edit it" in run_main("hub course --students roster.csv", place, status=1)
