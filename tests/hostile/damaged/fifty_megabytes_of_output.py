"""Fifty megabytes of output: a loop printed all of its tensors."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, Notebook, cell, write

NOTE = ""


def damage(folder: Path, notebook: Notebook) -> None:
    text = "tensor([0.1234, 0.5678])\n" * 2_000_000
    cell(notebook, DOUBLE)["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text}]
    write(folder, notebook)
