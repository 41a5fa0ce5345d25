"""The answer stands in a new cell above the untouched one: the student wrote there and ran that."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, Notebook, at, cell, code, write

STUB = 'def double(x: Tensor) -> Tensor:\n    """2 * x, elementwise."""\n    # YOUR CODE HERE\n    raise NotImplementedError()'

NOTE = "found again"


def damage(folder: Path, notebook: Notebook) -> None:
    answer = cell(notebook, DOUBLE)["source"]
    cell(notebook, DOUBLE)["source"] = STUB
    notebook["cells"].insert(at(notebook, DOUBLE), code(answer))
    write(folder, notebook)
