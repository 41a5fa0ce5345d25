"""A real JupyterHub that `gradlab hub --demo` has started, and users who are logged in to it."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
import requests

from autograder.hub.hub_folder import create_settings
from autograder.hub.programs import MIN_NODE, find_node, find_proxy, read_node_version
from autograder.hub.settings import HUB_FILE
from tests.conftest import ROOT
from tests.waiting import wait_until

PYTHONS = {"newest": sys.executable, "oldest": str(ROOT / ".venv-oldest/bin/python")}  # JupyterHub 6 and 5.5
PORTS = 12  # that a hub with a course or two listens on
ANSWER_SECONDS = 600  # after which a server that hangs fails the test
PROXY = "GRADLAB_HUB_PROXY"  # environment variable: a path, if configurable-http-proxy is in neither usual place


def find_missing_program() -> str:
    """What a hub needs and this machine lacks; empty if nothing."""
    node = find_node()
    if node is None or read_node_version(node) < MIN_NODE:
        return "Node"
    return "" if find_proxy(os.environ.get(PROXY, "")) else "configurable-http-proxy"


@dataclass
class HubUser:
    """A user's browser: its cookies."""

    url: str
    name: str
    session: requests.Session

    def get(self, path: str) -> requests.Response:
        return self.session.get(self.url + path, timeout=ANSWER_SECONDS)

    def post(self, path: str, body: Any, base: str) -> requests.Response:
        """base: the part of the hub that set the cookie against forged requests."""
        headers = {"X-XSRFToken": self._get_xsrf(base), "Referer": self.url + base}
        return self.session.post(self.url + path, json=body, headers=headers, timeout=ANSWER_SECONDS)

    def open_server(self) -> str:
        """Start the user's own server as the hub's page does, and return its address."""
        base = f"/user/{self.name}/"
        assert self.get("/hub/spawn").ok
        wait_until(lambda: self.get(f"{base}lab").url.startswith(f"{self.url}{base}lab"), "the server has started")
        return base

    def draw_token(self) -> str:
        """Ask the hub for a token that may use the exchange, as a student can on the hub's page."""
        body = {"scopes": ["access:services!service=exchange"]}
        self.get("/hub/token")
        answer = self.post(f"/hub/api/users/{self.name}/tokens", body, "/hub/")
        assert answer.ok, answer.text
        return str(answer.json()["token"])

    def _get_xsrf(self, base: str) -> str:
        (value,) = [each.value for each in self.session.cookies if each.name == "_xsrf" and each.path == base]
        return str(value)


@dataclass(frozen=True)
class RunningHub:
    url: str
    password: str
    folder: Path
    course: Path
    process: subprocess.Popen[bytes]

    @property
    def log(self) -> Path:
        """What it printed."""
        return self.folder.parent / "hub.log"

    @property
    def exchange(self) -> str:
        """The exchange as students' servers reach it."""
        return f"{self.url}/services/exchange/"

    def log_in(self, name: str) -> HubUser:
        session = requests.Session()
        session.trust_env = False  # no proxy
        login = f"{self.url}/hub/login"
        session.get(login, timeout=ANSWER_SECONDS)
        (xsrf,) = [each.value for each in session.cookies if each.name == "_xsrf"]
        form = {"username": name, "password": self.password, "_xsrf": xsrf}
        session.post(login, data=form, params={"next": "/hub/home"}, timeout=ANSWER_SECONDS).raise_for_status()
        return HubUser(self.url, name, session)


def _skip_without(reason: str) -> NoReturn:
    """Skip the test; fail in CI, which has everything."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


@contextlib.contextmanager
def run_hub(
    course: Path, place: Path, settings: str = "", roster: str = "", age: str = "newest"
) -> Iterator[RunningHub]:
    """Run a hub for this course, with its folder in `place`, until the test is done.

    settings: keys or a table, added to hub.toml. roster: a file with the students, instead of Ana and Ben. age: JupyterHub's, of PYTHONS.
    """
    if missing := find_missing_program():
        _skip_without(f"{missing} isn't installed: run make setup")
    if not Path(PYTHONS[age]).is_file():
        _skip_without("no .venv-oldest: make .venv-oldest/.installed creates it")
    variables = _build_environment()
    port = draw_port()
    folder = place / "hub"
    command = [PYTHONS[age], "-m", "autograder.cli", "hub", "--folder", str(folder)]
    if settings or roster:
        create_settings(folder, course, roster, (), True, port)
        written = (folder / HUB_FILE).read_text()
        (folder / HUB_FILE).write_text(written + settings if settings.startswith("[") else settings + written)
    else:
        command += [str(course), "--demo", "--port", str(port)]
    with start_hub(command, variables, place) as (process, log):
        yield RunningHub(f"http://127.0.0.1:{port}", _read_password(log), folder, course, process)


@contextlib.contextmanager
def restart_hub(killed: RunningHub) -> Iterator[RunningHub]:
    """Start a hub again that has ended."""
    command = [sys.executable, "-m", "autograder.cli", "hub", "--folder", str(killed.folder)]
    with start_hub(command, _build_environment(), killed.folder.parent) as (process, log):
        yield replace(killed, password=_read_password(log), process=process)


def _build_environment() -> dict[str, str]:
    variables = os.environ | {"PYTHONPATH": str(ROOT)}  # services start in other folders
    if proxy := find_proxy(os.environ.get(PROXY, "")):  # the oldest hub's environment has none
        variables["PATH"] = str(proxy.parent) + os.pathsep + variables["PATH"]
    return variables


def _read_password(log: Path) -> str:
    password = re.search(r"password (\S+)", log.read_text())
    return password[1] if password else ""


def draw_port() -> int:
    """A port that is free, as those after it are: other tests' servers and hubs run at the same time."""
    while True:
        port = 20_000 + secrets.randbelow(10_000)
        if all(map(is_free, range(port, port + PORTS))):
            return port


def is_free(port: int) -> bool:
    with socket.socket() as listener:
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@contextlib.contextmanager
def start_hub(
    command: list[str], variables: dict[str, str], place: Path
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Start a hub by this command, with its log in `place`, and end it when the test is done."""
    log = place / "hub.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=variables, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        _wait_until_ready(process, log)
        yield process, log
    finally:
        _end_hub(process)


def _wait_until_ready(process: subprocess.Popen[bytes], log: Path) -> None:
    while "JupyterHub is now running" not in (text := log.read_text(errors="replace")):
        if process.poll() is not None:
            raise RuntimeError(f"the hub ended with status {process.returncode}:\n{text[-4000:]}")
        time.sleep(0.1)


def _end_hub(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        process.wait()


def release_lab(course: Path, lab: str) -> None:
    """Release a lab as a teacher does in a terminal."""
    command = [sys.executable, "-m", "nbgrader", "release_assignment", lab]
    variables = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(command, cwd=course, env=variables, check=True, capture_output=True)


def copy_course(built_course: Path, place: Path) -> Path:
    return Path(shutil.copytree(built_course, place / "course"))
