"""Fixtures of a class on a hub."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.hub import checks
from tests.hub.exchange_process import ExchangeProcess, run_exchange
from tests.hub.hub_process import draw_port

COURSES = {"physics": ("ana", "ben"), "chemistry": ("ben",)}


@pytest.fixture(scope="module")
def exchange(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExchangeProcess]:
    """The service, for all tests of a module: it starts in some seconds."""
    with run_exchange(tmp_path_factory.mktemp("exchange")) as running:
        yield running


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
            (course / "source" / "01_forces").mkdir(parents=True)
            course.chmod(0o700)
            (course / "nbgrader_config.py").write_text(
                f"c = get_config()\nc.CourseDirectory.course_id = '{name}'\n"
                f"c.Exchange.root = '{hub}/exchange/{name}/nbgrader'\nc.ExchangeCollect.check_owner = False\n"
            )
            tables.append(f'[courses.{name}]\nfolder = "../{name}"\nstudents = {list(students)}\nteachers = ["prof"]\n')
        port = draw_port()
        keys = f'address = "http://127.0.0.1:{port}"\ninternal_port = {port + 1}\ndemo = true\n'
        (hub / "hub.toml").write_text(keys + "".join(tables))
        (hub / "hub.toml").chmod(0o600)
        yield hub
    os.umask(before)


@pytest.fixture
def equipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that a hub needs, whatever this machine has."""
    monkeypatch.setattr(checks, "find_node", lambda: Path("/usr/bin/node"))
    monkeypatch.setattr(checks, "read_node_version", lambda node: (24, 1))
    monkeypatch.setattr(checks, "find_proxy", lambda path: Path("/usr/bin/configurable-http-proxy"))
