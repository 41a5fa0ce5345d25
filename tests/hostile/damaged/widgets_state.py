"""The metadata hold megabytes of the state of widgets."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write

NOTE = ""


def damage(folder: Path, notebook: Notebook) -> None:
    notebook["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": "0" * 5_000_000}}
    write(folder, notebook)
