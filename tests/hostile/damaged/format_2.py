"""The notebook is of format 2: a converter of 2012 wrote it, without ids and metadata of cells."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write

NOTE = "found again"


def damage(folder: Path, notebook: Notebook) -> None:
    cells = [
        {"cell_type": "code", "input": c["source"], "language": "python", "outputs": [], "collapsed": False}
        if c["cell_type"] == "code"
        else {"cell_type": "markdown", "source": c["source"]}
        for c in notebook["cells"]
    ]
    write(folder, {"nbformat": 2, "metadata": {"name": ""}, "worksheets": [{"cells": cells}]})
