"""Mistakes of a hub's administrator, on a machine with accounts: gradlab hub check finds each, and its cure cures it."""

import os
import re
import shutil
import site
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.hub.department import Department, make_department
from tests.hub.mistakes import MISTAKES
from tests.hub.system_class import PASSWORD, explain_missing

NUMBER = 54321  # of a user without an account, as after a restore on another machine


@pytest.fixture(scope="module")
def department() -> Iterator[Department]:
    if reason := explain_missing():
        pytest.skip(reason)
    with make_department() as department:
        yield department


def parse(report: str) -> list[tuple[str, str]]:
    """Find each problem that a check printed, with its fix."""
    return re.findall(r"^(\S.*)\n    fix: (.*(?:\n(?!.*\n    fix: ).+)*)", report, re.M)


def cure(findings: list[tuple[str, str]]) -> None:
    """Run each fix; of one with an alternative, the first part."""
    for _, fix in findings:
        subprocess.run(["/bin/sh", "-e", "-c", re.split(r"\n\s*or write", fix)[0]], check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.gate
@pytest.mark.parametrize("kind", MISTAKES)
def test_mistakes_are_found_and_their_commands_cure_them(department: Department, kind: str) -> None:
    """Slow: accounts are made, and each check tries the sandbox as the course's user."""
    assert department.check().startswith("No problem found.")
    settings = (department.hub / "hub.toml").read_text()
    for plant in MISTAKES[kind]:
        plant(department)
    report = department.check()
    findings = parse(report)
    for words in MISTAKES[kind].values():
        assert [problem for problem, _ in findings if words in problem], f"{words!r} isn't in:\n{report}"
    assert len(findings) == len(MISTAKES[kind]), report
    cure(findings)
    if (
        kind == "files"
    ):  # the exchange's new user has another number, so the next check finds the folders of the old one
        cure(parse(department.check()))
    if kind == "accounts":  # the cure of a missing one sets no password
        prof = department.names["prof"]
        assert f"accounts without a password, so they can't log in: {prof}\n    fix: passwd" in department.check()
        subprocess.run(["chpasswd"], input=f"{prof}:{PASSWORD}", text=True, check=True)
    assert department.check().startswith("No problem found.")
    (department.hub / "hub.toml").write_text(settings)  # for the next test


@pytest.mark.slow
@pytest.mark.gate
def test_an_owner_in_a_group_of_others_gets_their_own_group(department: Department) -> None:
    """Slow: see above."""
    owner, ana = department.names["grader"], department.names["ana"]
    own = subprocess.run(["id", "-gn", ana], capture_output=True, text=True).stdout.strip()
    for name in (owner, ana):
        subprocess.run(["usermod", "--gid", "users", name], check=True)
    subprocess.run(["usermod", "-aG", owner, ana], check=True)  # in the owner's former group, too
    try:
        problem, _, cure = department.check().partition("\n    fix: ")
        assert f"{ana} can read the submissions of gradlab: the group users of {owner}" in problem
        subprocess.run(["/bin/sh", "-e", "-c", cure], check=True)
        assert department.check().startswith("No problem found.")
    finally:
        subprocess.run(["usermod", "--gid", own, "--groups", "", ana], check=True)


@pytest.mark.slow
@pytest.mark.gate
def test_a_python_that_others_cannot_run_is_named_once(department: Department) -> None:
    """Slow: see above. A first start and a check say so, and neither blames nbgrader_config.py."""
    closed, roster = department.place / "closed", department.place / "roster.csv"
    closed.mkdir(mode=0o700)
    (closed / "python").symlink_to(Path(department.python).resolve())
    roster.write_text(f"id\n{department.names['ana']}\n")
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    packages = f"import runpy, site; site.addsitedir({site.getsitepackages()[0]!r}); "
    code = packages + "runpy.run_module('autograder.cli', run_name='__main__')"
    start = [str(department.course), "--students", str(roster), "--teachers", department.names["prof"]]
    for arguments in (["check"], [], [*start, "--folder", str(department.place / "new")]):
        command = [closed / "python", "-c", code, "hub", "--folder", str(department.hub), *arguments]
        process = subprocess.run(command, capture_output=True, text=True, env=variables, check=False)
        output = process.stdout + process.stderr
        assert output.count(f"since only its owner can enter {closed}\n") == 1, output
        assert output.count("fix: install Gradlab in an environment below /opt") == 1, output
        assert "nbgrader_config.py" not in output and "chown" not in output, output
    shutil.rmtree(closed)


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
@pytest.mark.parametrize(
    ("owner", "words"),
    [("", "belongs to root"), ("prof", "can't enter"), (NUMBER, f"number {NUMBER}, who has no account")],
)
def test_a_course_in_another_users_home_goes_to_that_user(department: Department, owner: str | int, words: str) -> None:
    """Slow: see above."""
    private, link = department.place / "home", department.course
    private.mkdir(mode=0o700)
    department.own(private)
    course = link.rename(private / "course")
    link.symlink_to(course)
    try:
        for path in (course, *course.rglob("*")):
            shutil.chown(path, owner if owner == NUMBER else department.names.get(owner, "root"))
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
        "import sys; from autograder.hub import owner_checks, checks, settings; "
        "owner_checks.PRINT_LEVEL = 'print(\"same-user\")'; "
        "print([each.problem for each in checks.check_hub(settings.read_settings(sys.argv[1]))])"
    )
    assert "at the level same-user only, not full" in department.run("-c", code, str(department.hub / "hub.toml"))
