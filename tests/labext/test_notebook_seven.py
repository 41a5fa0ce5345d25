"""`labkit.start --notebook` in a folder of the course opens its first page, and anywhere else the list of files."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("start_page", "opened"),
    [(True, "notebooks/00_start_here.ipynb"), pytest.param(False, "tree", marks=pytest.mark.nightly)],
)
def test_the_first_page_is_opened_if_there_is_one(start_page: bool, opened: str, tmp_path: Path) -> None:
    folder, home = tmp_path / "work", tmp_path / "home"
    for directory in (folder, home):
        directory.mkdir()
    if start_page:
        (folder / "00_start_here.ipynb").write_text("{}")
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "IPYTHON", "XDG_"))}
    folders = {f"JUPYTER_{kind}_DIR": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")}
    options = ["--notebook", "--no-browser", "--allow-root", "--ServerApp.port=0"]
    command = [sys.executable, "-m", "labkit.start", str(folder), *options]
    with subprocess.Popen(
        command, cwd=home, env=variables | {"HOME": str(home)} | folders, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            address_line = next(line for line in process.stderr if "?token=" in line)
        finally:
            process.kill()  # a signal between its address and its event loop would be lost
    assert re.search(rf"http://[^/]+/{re.escape(opened)}\?token=", address_line), address_line
