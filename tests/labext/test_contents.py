"""A notebook is saved to the file that it was read from, whatever its metadata says."""

import json
import urllib.request
from pathlib import Path

import pytest

from tests.lab_server import DIRECT, run_lab_server

# A small version of jupytext's contents manager.
FOLLOWS_METADATA = """
from pathlib import Path
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

class Manager(AsyncLargeFileManager):
    async def save(self, model, path=""):
        Path(self.root_dir, model["content"]["metadata"]["jupytext"]["formats"]).write_text("the student's")
        return await super().save(model, path)
"""


@pytest.mark.slow
def test_jupytext_is_off_in_a_courses_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow: a server starts."""
    home, root, package = tmp_path / "home", tmp_path / "course", tmp_path / "installed" / "jupytext"
    for folder in (home, root / "source", package):
        folder.mkdir(parents=True)
    (package / "__init__.py").write_text(FOLLOWS_METADATA)
    (root / "source" / "x.ipynb").write_text("the course's")
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    notebook = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"jupytext": {"formats": "source/x.ipynb"}},
        "cells": [],
    }
    options = [
        f"--ServerApp.root_dir={root}",
        "--ServerApp.ip=127.0.0.1",
        "--ServerApp.contents_manager_class=jupytext.Manager",
    ]
    with run_lab_server(root, home, course=True, start=("jupyter_server",), options=options) as server:
        body = json.dumps({"type": "notebook", "format": "json", "content": notebook}).encode()
        headers = {"Authorization": f"token {server.token}"}
        DIRECT.open(
            urllib.request.Request(f"{server.url}api/contents/submitted.ipynb", body, headers, method="PUT")
        ).close()
        with DIRECT.open(urllib.request.Request(f"{server.url}api/contents/submitted.ipynb", headers=headers)) as got:
            assert json.load(got)["content"]["metadata"] == notebook["metadata"]
    assert (root / "submitted.ipynb").is_file()
    assert (root / "source" / "x.ipynb").read_text() == "the course's"


def test_no_package_that_gradlab_needs_installs_jupytext() -> None:
    pyproject = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert "jupytext" not in pyproject
