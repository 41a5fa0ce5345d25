"""It is the notebook of another lab: the wrong file was chosen."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write

KEPT: set[str] = set()
NOTE = "another lab"


def damage(folder: Path, notebook: Notebook) -> None:
    for each in notebook["cells"]:
        flags = each["metadata"].get("nbgrader")
        if flags:
            flags["grade_id"] = (
                flags["grade_id"].replace("double", "norm").replace("shift", "mean").replace("total", "median")
            )
        each["id"] = "x" + each["id"]
        each["source"] = "# another lab\n" + each["source"].replace("def ", "def other_")
    write(folder, notebook)
