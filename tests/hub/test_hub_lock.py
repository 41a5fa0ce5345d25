"""A hub that runs already."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder.cli.app import app
from autograder.hub.hub_folder import prepare_folder
from autograder.hub.settings import read_settings
from tests.conftest import ROOT
from tests.hub.hub_file import list_problems


@pytest.mark.usefixtures("equipped")
def test_a_hub_that_runs_isnt_blamed_for_its_ports_and_isnt_started_twice(folder: Path) -> None:
    hub = read_settings(folder / "hub.toml")
    prepare_folder(hub)
    program = (
        "import sys; from pathlib import Path; from autograder.hub.hub_lock import lock_folder; "
        "print(lock_folder(Path(sys.argv[1])), flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(folder)]
    with (
        socket.create_server(("127.0.0.1", hub.internal_port)),
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as running,
    ):
        assert running.stdin and running.stdout
        assert running.stdout.readline() == b"True\n"
        assert list_problems(folder) == ""
        result = CliRunner().invoke(app, ["hub", "--folder", str(folder)])
        assert f"the hub in {folder} is running already" in str(result.exception)
        running.stdin.close()
        running.wait()
        assert "another program uses port" in list_problems(folder)
        result = CliRunner().invoke(app, ["hub", "--folder", str(folder)])
        assert "the hub doesn't start like this" in str(result.exception), "a start checks the ports, too"
