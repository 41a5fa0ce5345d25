"""A service in a container of its own: a real process that gets nothing but hub.toml and its token."""

import contextlib
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from jupyterhub.services.auth import HubOAuth

from autograder.hub.course_part import build_environment, prepare_volumes
from autograder.hub.settings import Hub, read_settings
from tests.conftest import ROOT
from tests.hub.exchange_process import COURSE, LAB, ExchangeProcess
from tests.waiting import wait_until

GROUP = 1001  # of the exchange's user, as in the image
HUB = """
[containers]
spawner = "docker"
exchanges = "{exchanges}"
[courses.{course}]
folder = "{folder}"
teachers = ["prof"]
"""


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    """A hub whose course and exchange are where containers have their volumes."""
    course, exchanges, settings = tmp_path / "course", tmp_path / "exchange", tmp_path / "hub" / "hub.toml"
    for folder in (course, exchanges, settings.parent):
        folder.mkdir()
    (course / "nbgrader_config.py").write_text(f"c = get_config()\nc.CourseDirectory.course_id = '{COURSE}'\n")
    settings.write_text(HUB.format(exchanges=exchanges, course=COURSE, folder=course))
    return read_settings(settings)


def run_part(hub: Hub, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "autograder.hub.course_part", str(hub.folder / "hub.toml"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def read_modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def test_the_volumes_are_prepared_once(hub: Hub) -> None:
    (course,) = hub.courses
    volume = course.gate.parent
    if os.geteuid() == 0:
        os.chown(volume, -1, GROUP)
    volume.chmod(0o2770)
    assert run_part(hub, "prepare").returncode == 0
    assert {path.stat().st_gid for path in volume.rglob("*")} == {volume.stat().st_gid}, "both users are in the group"
    assert stat.S_IMODE(course.gate.stat().st_mode) & 0o077 == 0o070
    expected = {"inbound": 0o3775, "outbound": 0o755, "feedback": 0o755}
    own = course.exchange_folder
    assert read_modes(own) == expected
    config = (course.folder / "nbgrader_config.py").read_text()
    assert config.count(f"c.Exchange.root = '{course.exchange}'") == 1
    (own / "inbound").chmod(0o700)
    assert run_part(hub, "prepare").returncode == 0
    assert read_modes(own) == expected | {"inbound": 0o700}
    assert (course.folder / "nbgrader_config.py").read_text() == config


def test_the_exchange_runs_with_nothing_but_its_token(hub: Hub, exchange: ExchangeProcess) -> None:
    """It asks the stand-in for a hub about tokens, as the exchange of these tests does."""
    (course,) = hub.courses
    prepare_volumes(course)
    (course.exchange_folder / "outbound" / LAB).mkdir()
    (course.exchange_folder / "outbound" / LAB / f"{LAB}.ipynb").write_text("{}")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JUPYTERHUB")}
    given = {"JUPYTERHUB_API_TOKEN": exchange.environment["JUPYTERHUB_API_TOKEN"], "PYTHONPATH": str(ROOT)}
    part = PartProcess(hub, exchange, kept | given)
    part.start()
    with contextlib.closing(part):
        client = part.connect()
        assert client.list_courses() == [COURSE] and list(client.list_labs(COURSE)) == [LAB]


class PartProcess(ExchangeProcess):
    """The exchange as its container runs it."""

    def __init__(self, hub: Hub, other: ExchangeProcess, environment: dict[str, str]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            super().__init__(hub.courses[0].exchange, free.getsockname()[1], environment)
        address = other.environment["JUPYTERHUB_API_URL"].removesuffix("/hub/api")
        self.arguments = [str(hub.folder / "hub.toml"), "exchange", f"--port={self.port}", f"--hub={address}"]

    def start(self) -> None:
        command = [sys.executable, "-m", "autograder.hub.course_part", *self.arguments]
        self.process = subprocess.Popen(command, env=self.environment)
        wait_until(self._answers, "the exchange answers")

    def close(self) -> None:
        self.kill()


def test_a_service_that_the_hub_does_not_know_is_refused(hub: Hub) -> None:
    process = run_part(hub, "teach-history")
    assert process.returncode == 1
    assert "this hub has no service teach-history" in process.stderr and f"teach-{COURSE}" in process.stderr


def test_a_login_through_the_hub_returns_to_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in build_environment("teach-physics", 8091, "http://hub:8081").items():
        monkeypatch.setenv(name, value)
    auth = HubOAuth()
    assert auth.api_url == "http://hub:8081/hub/api"
    assert auth.oauth_client_id == "service-teach-physics"
    assert auth.oauth_redirect_uri == "/services/teach-physics/oauth_callback"
    assert auth.access_scopes == {"access:services!service=teach-physics"}
