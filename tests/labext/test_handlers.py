"""A student's server survives damaged notebooks, and its kernels run no file next to a notebook."""

import contextlib
import json
import shutil
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Empty

import pytest
from jupyter_client.blocking import BlockingKernelClient

from tests.lab_server import DIRECT, LabServer, ask_extension, run_lab_server

LAB = "01_squares"


@dataclass(frozen=True)
class Desktop:
    """A student's folder with a released lab, and JupyterLab's server on it."""

    server: LabServer
    home: Path
    """Where the server's own files are."""


@pytest.fixture(scope="module")
def desktop(built_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desktop]:
    root, home = tmp_path_factory.mktemp("desktop"), tmp_path_factory.mktemp("home")
    shutil.copytree(built_course / "release" / LAB, root / LAB)
    with run_lab_server(root, home, course=True, start=("jupyter_server",)) as server:
        yield Desktop(server, home)


@pytest.mark.slow
def test_a_damaged_notebook_costs_neither_the_panel_nor_the_server(desktop: Desktop) -> None:
    """Slow: a server starts."""
    server, root = desktop.server, desktop.server.folder
    notebook = {"metadata": {"gradlab": {"lab": "x"}}, "cells": [1, {"metadata": []}]}
    for number, text in enumerate((json.dumps(notebook), "[" * 100_000, '{"metadata": 3}')):
        (root / f"x{number}").mkdir()
        (root / f"x{number}" / f"x{number}.ipynb").write_text(text)
    status, text = ask_extension(server, "course")
    assert status == 200
    assert [lab["name"] for lab in json.loads(text)["labs"]] == [LAB]
    assert ask_extension(server, "state", {"path": "x0/x0.ipynb", "notebook": notebook})[0] == 400
    assert ask_extension(server, "state", {"path": "x0/x0.ipynb", "notebook": 3})[0] == 400
    assert ask_extension(server, "state", ["x"])[0] == 400


def wait_for_kernel(client: BlockingKernelClient) -> None:
    """Wait until the kernel answers and its outputs arrive. Unlike wait_for_ready(), don't expect timely heartbeats."""
    has_output = False
    while not has_output:
        client.kernel_info()
        client.get_shell_msg(timeout=None)
        with contextlib.suppress(Empty):
            has_output = bool(client.get_iopub_msg(timeout=1))


@pytest.mark.slow
def test_a_kernel_runs_no_file_next_to_its_notebook_before_the_first_cell(desktop: Desktop, tmp_path: Path) -> None:
    """Slow: a server and a kernel start."""
    server, trace, root = desktop.server, tmp_path / "it_ran", desktop.server.folder
    (root / "mallory").mkdir(parents=True)
    (root / "mallory" / "n.ipynb").write_text(
        json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []})
    )
    (root / "mallory" / "helper.py").write_text("")
    for name in ("ipykernel_launcher", "runpy", "json", "traitlets", "zmq", "IPython", "storemagic"):
        (root / "mallory" / f"{name}.py").write_text(f"open({str(trace)!r}, 'a').write({name!r})\n")
    session = {"path": "mallory/n.ipynb", "name": "n", "type": "notebook", "kernel": {"name": "python3"}}
    request = urllib.request.Request(
        f"{server.url}api/sessions", json.dumps(session).encode(), {"Authorization": f"token {server.token}"}
    )
    with DIRECT.open(request) as response:
        kernel = json.load(response)["kernel"]["id"]
    client = BlockingKernelClient(connection_file=str(desktop.home / "runtime" / f"kernel-{kernel}.json"))
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
