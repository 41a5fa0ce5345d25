"""The untouched cell is pasted back below the answer: to see what was asked."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, Notebook, at, pasted, write

STUB = 'def double(x: Tensor) -> Tensor:\n    """2 * x, elementwise."""\n    # YOUR CODE HERE\n    raise NotImplementedError()'

NOTE = "untouched versions"


def damage(folder: Path, notebook: Notebook) -> None:
    notebook["cells"].insert(at(notebook, DOUBLE) + 1, pasted(notebook, DOUBLE) | {"source": STUB})
    write(folder, notebook)
