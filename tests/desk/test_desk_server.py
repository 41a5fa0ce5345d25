"""`gradlab desk` prints only its address and errors, and ends at once on Ctrl-C.

Slow: starts Jupyter servers.
"""

import signal
import socket
import subprocess
import sys
import urllib.error
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.desk.answered_class import LAB, QUESTION
from tests.lab_server import DIRECT

pytestmark = pytest.mark.slow
DESK = (sys.executable, "-m", "autograder.cli", "desk")


def find_free_port() -> int:
    """A port that another server may take first: Jupyter then takes the next one."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture
def desk_process(course: Path) -> Iterator[subprocess.Popen[str]]:
    """Started as a person does, root too, on a machine with other Jupyter settings."""
    settings = course / ".jupyter"
    settings.mkdir()
    (settings / "jupyter_server_config.py").write_text(
        'c.ServerApp.base_url = "/x/"\nc.ServerApp.log_level = "DEBUG"\n'
    )
    command = [*DESK, "--course", str(course), "--no-browser", "--port", str(find_free_port())]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, **pipes, text=True, env={"JUPYTER_CONFIG_DIR": str(settings)})  # type: ignore[call-overload]
    yield process
    process.kill()
    process.wait()


def test_the_desk_prints_its_address_and_how_to_end_it_and_then_only_errors(
    course: Path, desk_process: subprocess.Popen[str]
) -> None:
    assert desk_process.stdout
    words, _, address = desk_process.stdout.readline().rpartition(" ")
    page, _, token = address.strip().partition("?")
    assert words == "Reading answers:"
    assert page.startswith("http://127.0.0.1:")
    assert page.endswith("/gradlab/desk/")
    assert desk_process.stdout.readline() == "Stop with Ctrl-C. Saved marks are in the gradebook.\n"
    assert "why" in DIRECT.open(address).read().decode()
    (course / "rubrics" / f"{LAB}.json").mkdir(parents=True)  # a fault in the course
    with pytest.raises(urllib.error.HTTPError, match="500"):
        DIRECT.open(f"{page}read/{LAB}/{LAB}/{QUESTION}?{token}")
    desk_process.send_signal(signal.SIGINT)
    out, errors = desk_process.communicate()
    assert (desk_process.returncode, out) == (0, "")
    assert errors.startswith("[E ")
    assert "IsADirectoryError" in errors


def test_a_folder_without_a_course_is_reported_before_anything_starts(tmp_path: Path) -> None:
    process = subprocess.run([*DESK, "--course", str(tmp_path)], capture_output=True, text=True, check=False)
    assert process.returncode == 1
    assert process.stderr.startswith("gradlab: no course here")
    assert process.stdout == ""
