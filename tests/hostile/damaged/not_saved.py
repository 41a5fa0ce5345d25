"""All exercises are as they were handed out: the student never saved."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, SHIFT, TOTAL, Notebook, cell, write

KEPT: set[str] = set()
NOTE = "Was your work saved"


def damage(folder: Path, notebook: Notebook) -> None:
    for identity, name in ((DOUBLE, "double"), (SHIFT, "shift"), (TOTAL, "total")):
        answer = cell(notebook, identity)
        head = answer["source"].split("\n")[:2]
        answer["source"] = "\n".join([*head, "    # YOUR CODE HERE", "    raise NotImplementedError()"])
        assert name in head[0]
    write(folder, notebook)
