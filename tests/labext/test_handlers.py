"""A real server never runs a submission that an instructor opens."""

import contextlib
import json
import shutil
import urllib.error
import urllib.request
from pathlib import Path
from queue import Empty

import psutil
import pytest
from jupyter_client.blocking import BlockingKernelClient

from tests.lab_server import DIRECT, LabServer, run_lab_server

LAB = "01_squares"
SERVER = ("jupyter_server",)


def ask(server: LabServer, path: str, body: object = None) -> tuple[int, str]:
    """(status, text) of a request to the extension."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{server.url}gradlab/{path}", data, {"Authorization": f"token {server.token}"})
    try:
        with DIRECT.open(request) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def list_children(server: LabServer) -> list[psutil.Process]:
    """The graders that the server has started."""
    return [
        p
        for p in psutil.process_iter()
        if str(server.folder) in " ".join(_read_command(p)) and "mark" in _read_command(p)
    ]


def _read_command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.mark.slow
def test_opening_a_submission_that_brings_a_course_runs_nothing(small_course: Path, tmp_path: Path) -> None:
    """Slow: a server starts."""
    trace, home = tmp_path / "it_ran", tmp_path / "home"
    home.mkdir()
    content = json.loads((small_course / "release" / LAB / f"{LAB}.ipynb").read_text())
    for cell in content["cells"]:
        if cell["metadata"].get("gradlab", {}).get("kind") == "exercise":
            cell["source"] = "something = 'was written'"
    submission = small_course / "submitted" / "mallory" / LAB
    for folder in (
        submission,
        submission / LAB,
    ):  # the second is the place of a student's copy, if the first were the root
        shutil.copytree(small_course / "source" / LAB, folder / "source" / LAB)
        (folder / f"{LAB}.ipynb").write_text(json.dumps(content))
        (folder / "nbgrader_config.py").write_text(f"open({str(trace)!r}, 'w')\n")
    with run_lab_server(small_course, home, course=True, start=SERVER) as server:
        for path in (submission, submission / LAB):
            notebook = (path / f"{LAB}.ipynb").relative_to(small_course).as_posix()
            assert ask(server, "state", {"path": notebook, "notebook": content})[0] == 200
            assert ask(server, "mark", {"path": notebook, "agreed": True})[0] == 409
            assert ask(server, f"page/{notebook}")[0] == 404
        assert not list_children(server)
    assert not trace.exists()


@pytest.mark.slow
def test_a_damaged_notebook_costs_neither_the_panel_nor_the_server(small_course: Path, tmp_path: Path) -> None:
    """Slow: a server starts."""
    home, root = tmp_path / "home", tmp_path / "desktop"
    home.mkdir()
    shutil.copytree(small_course / "release" / LAB, root / LAB)
    notebook = {"metadata": {"gradlab": {"lab": "x"}}, "cells": [1, {"metadata": []}]}
    for number, text in enumerate((json.dumps(notebook), "[" * 100_000, '{"metadata": 3}')):
        (root / f"x{number}").mkdir()
        (root / f"x{number}" / f"x{number}.ipynb").write_text(text)
    with run_lab_server(root, home, course=True, start=SERVER) as server:
        status, text = ask(server, "course")
        assert status == 200
        assert [lab["name"] for lab in json.loads(text)["labs"]] == [LAB]
        assert ask(server, "state", {"path": "x0/x0.ipynb", "notebook": notebook})[0] == 400
        assert ask(server, "state", {"path": "x0/x0.ipynb", "notebook": 3})[0] == 400
        assert ask(server, "state", ["x"])[0] == 400


def wait_for_kernel(client: BlockingKernelClient) -> None:
    """Wait until the kernel answers and its outputs arrive. Unlike wait_for_ready(), don't expect timely heartbeats."""
    has_output = False
    while not has_output:
        client.kernel_info()
        client.get_shell_msg(timeout=None)
        with contextlib.suppress(Empty):
            has_output = bool(client.get_iopub_msg(timeout=1))


@pytest.mark.slow
def test_a_kernel_runs_no_file_next_to_its_notebook_before_the_first_cell(tmp_path: Path) -> None:
    """Slow: a server and a kernel start."""
    trace, home, root = tmp_path / "it_ran", tmp_path / "home", tmp_path / "desktop"
    home.mkdir()
    (root / "mallory").mkdir(parents=True)
    (root / "mallory" / "n.ipynb").write_text(
        json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []})
    )
    (root / "mallory" / "helper.py").write_text("")
    for name in ("ipykernel_launcher", "runpy", "json", "traitlets", "zmq", "IPython", "storemagic"):
        (root / "mallory" / f"{name}.py").write_text(f"open({str(trace)!r}, 'a').write({name!r})\n")
    with run_lab_server(root, home, course=True, start=SERVER) as server:
        session = {"path": "mallory/n.ipynb", "name": "n", "type": "notebook", "kernel": {"name": "python3"}}
        request = urllib.request.Request(
            f"{server.url}api/sessions", json.dumps(session).encode(), {"Authorization": f"token {server.token}"}
        )
        with DIRECT.open(request) as response:
            kernel = json.load(response)["kernel"]["id"]
        client = BlockingKernelClient(connection_file=str(home / "runtime" / f"kernel-{kernel}.json"))
        client.load_connection_file()
        client.start_channels()
        wait_for_kernel(client)
        for _request in (client.complete("imp"), client.inspect("print"), client.history(raw=True)):
            client.get_shell_msg(timeout=None)
        # Silently, as an extension may do it.
        cells = {"import storemagic": True, "import os, sys; assert os.getcwd() not in sys.path_importer_cache": True}
        cells["import helper"] = False
        replies = [client.execute_interactive(cell, silent=silent, allow_stdin=False) for cell, silent in cells.items()]
        has_run = trace.exists()
        client.stop_channels()
    silent_import, not_searched, imports = (reply["content"]["status"] for reply in replies)
    assert silent_import == "error" and not has_run
    assert not_searched == "ok", "no module was looked for in the folder, whatever its name"
    assert imports == "ok", "a cell imports modules next to its notebook"
