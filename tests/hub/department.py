"""An administrator's machine: a hub that is in order, and the accounts of its users."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.conftest import ROOT
from tests.hub.hub_process import draw_port
from tests.hub.system_class import make_accounts, make_environment


@dataclass(frozen=True)
class Department:
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


@contextlib.contextmanager
def make_department() -> Iterator[Department]:
    """Make the accounts and the hub's files. At the end, both are gone."""
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
        (made.course / "source" / "01_squares").mkdir(parents=True)
        for path in (made.course, *made.course.rglob("*")):
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
