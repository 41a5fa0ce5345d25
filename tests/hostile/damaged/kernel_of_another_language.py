"""The notebook was saved with a kernel for R."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write

NOTE = "kernel for r"


def damage(folder: Path, notebook: Notebook) -> None:
    notebook["metadata"] = {
        "kernelspec": {"name": "ir", "display_name": "R", "language": "R"},
        "language_info": {"name": "R"},
    }
    write(folder, notebook)
