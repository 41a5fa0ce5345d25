"""What gradlab hub check finds on a machine without accounts."""

import contextlib
import pwd
import shutil
import socket
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder.base.folder_readers import describe_readers
from autograder.cli import hub as cli
from autograder.cli.app import app
from autograder.hub import checks, exchange_checks, login_checks
from autograder.hub.checks import check_hub
from autograder.hub.login_checks import check_logins
from autograder.hub.settings import read_settings
from tests.hub.hub_file import end_demo, list_problems, replace_line
from tests.hub.hub_process import draw_port


@pytest.mark.usefixtures("equipped")
def test_a_closed_hub_has_no_findings(folder: Path) -> None:
    port = draw_port()  # another test's hub may use the usual ones
    replace_line(folder, "address", f'"http://127.0.0.1:{port}"')
    replace_line(folder, "internal_port", str(port + 1))
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
    assert f"only its owner can enter {closed} FIX install Gradlab" in list_problems(folder)
    for path in (closed, closed / "bin"):
        path.chmod(0o755)
    (closed / "bin" / "python").chmod(0o700)
    assert f"only its owner can run {closed / 'bin' / 'python'} FIX" in list_problems(folder)


@pytest.mark.usefixtures("equipped")
def test_a_port_that_another_program_uses_is_found(folder: Path) -> None:
    hub = read_settings(folder / "hub.toml")
    with socket.create_server(("127.0.0.1", hub.internal_port)):
        assert f"another program uses port {hub.internal_port} of this machine" in list_problems(folder)
    assert list_problems(folder) == ""


@pytest.mark.usefixtures("equipped")
def test_a_port_of_the_hub_and_of_its_parts_is_found(folder: Path) -> None:
    port = read_settings(folder / "hub.toml").internal_port + 1
    replace_line(folder, "address", f'"http://127.0.0.1:{port}"')
    problems = list_problems(folder)
    assert f"address has the port {port}, which the hub's parts use as well: internal_port is {port - 1}" in problems
    assert f"FIX write internal_port = {port + 1} in hub.toml" in problems
    replace_line(folder, "internal_port", str(port + 1))
    assert list_problems(folder) == ""


def test_a_proxy_that_hub_toml_names_and_does_not_exist_is_found(folder: Path, tmp_path: Path) -> None:
    replace_line(folder, "proxy", f'"{tmp_path}/nonsense"')
    words = f"there is no {tmp_path}/nonsense, which hub.toml names as the proxy FIX correct `proxy` in hub.toml"
    assert words in list_problems(folder)
    (folder / "nonsense").touch()
    replace_line(folder, "proxy", '"nonsense"')
    assert "nonsense" not in list_problems(folder), "it's relative to hub.toml"


@pytest.mark.usefixtures("equipped")
def test_a_student_who_is_also_a_teacher_is_a_warning(folder: Path) -> None:
    path = folder / "hub.toml"
    path.write_text(
        path.read_text().replace('teachers = ["prof"]', 'teachers = ["prof", "ana"]\nassistants = ["ben"]', 1)
    )
    found = [each for each in check_hub(read_settings(path)) if "give themselves marks" in each.problem]
    assert [each.problem.rpartition(": ")[2] for each in found] == ["ana", "ben"]
    assert "students of physics who are also teachers" in found[0].problem and "also assistants" in found[1].problem
    assert not any(each.blocks for each in found)


@pytest.mark.usefixtures("equipped")
def test_a_term_toml_that_cannot_be_read_is_a_warning(folder: Path) -> None:
    path = folder.parent / "physics" / "term.toml"
    path.write_text("[[extension]\n")
    (found,) = check_hub(read_settings(folder / "hub.toml"))
    assert f"{path}:1: this can't be read" in found.problem and not found.blocks
    path.write_text("")
    assert list_problems(folder) == ""


@pytest.mark.usefixtures("equipped")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("c.Examine.cell_second = 5", "nbgrader_config.py:5: c.Examine has no setting 'cell_second'"),
        ("c.Exchange.timezone = 'Europe/Berln'", "c.Exchange.timezone in nbgrader_config.py isn't a time zone"),
    ],
)
def test_a_setting_that_stops_the_watch_is_a_warning(folder: Path, line: str, words: str) -> None:
    config = folder.parent / "physics" / "nbgrader_config.py"
    config.write_text(f"{config.read_text()}{line}\n")
    (found,) = check_hub(read_settings(folder / "hub.toml"))
    assert found.problem.startswith("the watch of physics can't mark anything: ") and words in found.problem
    assert found.cure and not found.blocks


@pytest.mark.usefixtures("equipped")
def test_a_course_id_that_changed_during_a_term_is_to_be_restored(folder: Path) -> None:
    config = folder.parent / "physics" / "nbgrader_config.py"
    config.write_text(config.read_text().replace("course_id = 'physics'", "course_id = 'physics-2'"))
    assert "FIX write [courses.physics-2] in hub.toml" in list_problems(folder), "nothing was submitted yet"
    (folder / "exchange" / "physics" / "nbgrader" / "physics").mkdir(parents=True)
    assert 'FIX write c.CourseDirectory.course_id = "physics" again' in list_problems(folder)


@pytest.mark.usefixtures("equipped")
def test_a_full_disk_is_a_warning(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(folder)
    monkeypatch.setattr(exchange_checks.shutil, "disk_usage", lambda path: usage._replace(free=400_000_000))
    problems = list_problems(folder)
    assert f"the disk with {folder} has only 0.4 GB free for submissions of physics FIX free some space" in problems
    assert f"the disk with {folder.parent / 'chemistry'} has only 0.4 GB free for marks of chemistry" in problems


@pytest.mark.usefixtures("equipped")
def test_accounts_that_cannot_log_in_are_warnings(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end_demo(folder)
    hub, accounts = read_settings(folder / "hub.toml"), {"ben": pwd.getpwuid(0)}
    lines = ["ana:!:1:0:99999:7:::", "ben:$6$salt$hash:1:0:99999:7:::", "prof:!$6$salt$hash:1:0:99999:7::1:", "x:!"]
    (tmp_path / "shadow").write_text("\n".join(lines))
    monkeypatch.setattr(login_checks, "SHADOW", tmp_path / "shadow")
    found = {each.problem: each.cure for each in check_logins(hub, accounts)}
    assert found == {
        "accounts without a password, so they can't log in: ana": "passwd ana",
        "accounts with a locked password, so they can't log in: prof": "usermod --unlock prof",
        "accounts expired, so they can't log in: prof": "usermod --expiredate '' prof",
    }
    (folder / "jupyterhub_config.py").write_text("c.JupyterHub.authenticator_class = 'github'\n")
    assert list(check_logins(hub, accounts)) == [], "passwords of this machine don't matter"


def test_a_hub_with_accounts_is_checked_by_root_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    end_demo(folder)
    monkeypatch.setattr(cli.os, "geteuid", lambda: 1000)
    result = CliRunner().invoke(app, ["hub", "check", "--folder", str(folder)])
    assert "checked by root only" in str(result.exception) and "sudo" in str(result.exception)


def test_check_has_its_own_help_page() -> None:
    page = CliRunner().invoke(app, ["hub", "check", "--help"]).output
    assert "hub check [OPTIONS]" in page and "--students" not in page


@pytest.mark.parametrize("arguments", [["hub"], ["hub", "start"]])
def test_a_hub_starts_with_or_without_the_word_start(arguments: list[str]) -> None:
    page = CliRunner().invoke(app, [*arguments, "--help"]).output
    assert "hub start [OPTIONS]" in page and "--students" in page and "gradlab hub check" in page


@pytest.mark.usefixtures("equipped")
def test_a_gradebook_that_a_restore_forgot_is_found(folder: Path) -> None:
    course = folder.parent / "physics"
    gradebook, history = course / "gradebook.db", course / "results" / "01_forces" / "history"
    history.mkdir(parents=True)
    assert list_problems(folder) == "", "nothing is graded yet"
    (history / "ana.jsonl").touch()
    words = f"{gradebook} has no marks, and {course} has graded submissions: the gradebook is lost"
    assert words in list_problems(folder), "it's missing"
    gradebook.touch()
    assert words in list_problems(folder), "it's empty"
    with contextlib.closing(sqlite3.connect(gradebook)) as database:
        database.execute("create table submitted_assignment (id)")
        assert words in list_problems(folder), "no submission has a mark"
        database.execute("insert into submitted_assignment values (1)")
        database.commit()
    assert list_problems(folder) == ""
