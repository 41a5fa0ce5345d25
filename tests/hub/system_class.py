"""A class whose users are system users: a hub that root has started for real accounts, which are removed afterwards."""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import site
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.hub.hub_process import HubUser, RunningHub, draw_port, find_missing_program, start_hub

PASSWORD = secrets.token_urlsafe(12)
TOOLS = ("useradd", "userdel", "chpasswd")


def explain_missing() -> str:
    """Why no such class can run here; empty if it can."""
    if os.geteuid() != 0:
        return "only root can start servers of other users"
    if missing := [name for name in TOOLS if shutil.which(name) is None]:
        return f"this machine has no {missing[0]}"
    if not find_common_python():
        return "this machine has no Python of this version that every user can run"
    return find_missing_program()


def find_common_python() -> str:
    """A Python with this version that every user can run, and to whom the project is open; empty if there is none."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        paths = (Path(candidate), Path(candidate).resolve(), ROOT, Path(site.getsitepackages()[0]))
        if all(path.exists() and _is_open(path) for path in paths):
            return candidate
    return ""


def _is_open(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o001 for folder in (*path.parents, *([path] if path.is_dir() else [])))


@dataclass(frozen=True)
class SystemClass:
    """The class, and the names of its users."""

    hub: RunningHub
    ana: str
    ben: str
    prof: str
    helper: str
    grader: str
    """Owns the course."""
    exchange: str
    python: str
    variables: dict[str, str]

    def log_in(self, name: str) -> HubUser:
        return self.hub.log_in(name)

    def run_as(self, user: str, *command: str, place: Path | None = None) -> subprocess.CompletedProcess[str]:
        """What this command does for a system user, in this folder or their home."""
        account = pwd.getpwnam(user)
        return subprocess.run(
            command,
            user=account.pw_uid,
            group=account.pw_gid,
            extra_groups=[],
            cwd=place or account.pw_dir,
            env={**self.variables, "HOME": account.pw_dir},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


@contextlib.contextmanager
def make_accounts(*roles: str) -> Iterator[dict[str, str]]:
    """Names by role, of system users with homes of their own. Removed at the end."""
    mark = secrets.token_hex(2)
    names = {role: f"gl{mark}{role}" for role in roles}
    try:
        for name in names.values():
            options = ["--create-home", "--user-group", "--key", "HOME_MODE=0700", "--shell", "/bin/bash"]
            subprocess.run(["useradd", *options, name], check=True, capture_output=True)
            subprocess.run(["chpasswd"], input=f"{name}:{PASSWORD}", text=True, check=True)
        yield names
    finally:
        for name in names.values():
            subprocess.run(["userdel", "--remove", "--force", name], check=False, capture_output=True)


def make_environment(place: Path) -> str:
    """A virtual environment that every user can run, with the packages of this one."""
    python = find_common_python()
    if python == sys.executable:
        return python
    subprocess.run([python, "-m", "venv", "--without-pip", str(place)], check=True)
    packages = site.getsitepackages()[0]
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    own = place / "lib" / version / "site-packages" / "packages.pth"
    own.write_text(f"import site; site.addsitedir({packages!r})\n")
    for name in ("share", "etc", "node_modules"):
        if (Path(sys.prefix) / name).exists():
            os.symlink(Path(sys.prefix) / name, place / name)
    for program in ("nbgrader", "jupyter", "jupyter-nbgrader"):
        script = place / "bin" / program
        module = {"nbgrader": "nbgrader", "jupyter": "jupyter_core", "jupyter-nbgrader": "nbgrader"}[program]
        script.write_text(f'#!/bin/sh\nexec {place}/bin/python -m {module} "$@"\n')
        script.chmod(0o755)
    return str(place / "bin" / "python")


@contextlib.contextmanager
def run_system_class(built_course: Path) -> Iterator[SystemClass]:
    """Run a class with two students, a teacher and an assistant."""
    if reason := explain_missing():
        pytest.skip(reason)
    with contextlib.ExitStack() as stack:
        stack.callback(os.umask, os.umask(0o022))
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp", prefix="gradlab-class-")))
        place.chmod(0o755)
        python = make_environment(place / "env")
        roles = ("ana", "ben", "prof", "helper", "grader", "exchange")
        names = stack.enter_context(make_accounts(*roles))
        course = place / "course"
        shutil.copytree(built_course, course)
        for path in (course, *course.rglob("*")):
            shutil.chown(path, names["grader"], names["grader"])
        course.chmod(0o700)
        roster, hub = place / "roster.csv", place / "hub"
        roster.touch(mode=0o600)
        roster.write_text(f"id\n{names['ana']}\n{names['ben']}\n")
        variables = {
            **os.environ,
            "PATH": f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        write_settings(hub, course, roster, names, port := draw_port())
        command = [python, "-m", "autograder.cli", "hub", "--folder", str(hub)]
        process, _ = stack.enter_context(start_hub(command, variables, place))
        running = RunningHub(f"http://127.0.0.1:{port}", PASSWORD, hub, course, process)
        yield SystemClass(running, **names, python=python, variables=variables)


def write_settings(hub: Path, course: Path, roster: Path, names: dict[str, str], port: int) -> None:
    """Write what an administrator writes, to which `gradlab hub` adds JupyterHub's configuration."""
    hub.mkdir()
    (hub / "hub.toml").write_text(
        f'''address = "http://127.0.0.1:{port}"
internal_port = {port + 1}
exchange_user = "{names["exchange"]}"
[courses.gradlab]
folder = "{course}"
students = "{roster}"
teachers = ["{names["prof"]}"]
assistants = ["{names["helper"]}"]
'''
    )
