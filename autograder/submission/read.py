"""Reads a submitted file. What comes in is data: nothing in it is run, and nothing in it is believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

MAX_BYTES = 20_000_000
MAX_CELLS = 2_000


class Refused(Exception):
    """This file cannot be graded. The message tells the student why, and what to do."""


def read_submission(path: Path) -> NotebookNode:
    """The notebook in this file, in the current format, its cells being code, markdown or raw with text as source.

    Raises Refused where the file is a link, too large, not JSON, or not a notebook.
    """
    if path.is_symlink() or not path.is_file():
        raise Refused("The file is a link or no plain file. Hand in the notebook itself.")
    if path.stat().st_size == 0:
        raise Refused(f"No notebook named {path.name} was handed in. Hand it in again under this name.")
    if path.stat().st_size > MAX_BYTES:
        raise Refused(
            f"The file is over {MAX_BYTES // 1_000_000} MB. Clear the outputs (Edit, Clear Outputs of All Cells), "
            "save, and hand it in again."
        )
    try:
        data = json.loads(path.read_bytes().decode("utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise Refused(
            "The file is not a notebook: it is not JSON. Was it cut off, or saved by another program?"
        ) from None
    return _checked(data)


def _checked(data: Any) -> NotebookNode:
    version = data.get("nbformat") if isinstance(data, dict) else None
    if not isinstance(version, int) or version not in (3, 4):
        raise Refused(
            "The file is JSON, but no notebook of format 3 or 4. Save it from JupyterLab and hand it in again."
        )
    try:
        notebook: NotebookNode = nbformat.convert(nbformat.from_dict(data), 4)
        cells = [_clean(cell) for cell in notebook.cells]
    except Exception:
        raise Refused("The file is a damaged notebook: its cells cannot be read.") from None
    if len(cells) > MAX_CELLS:
        raise Refused(f"The notebook has more than {MAX_CELLS} cells.")
    return nbformat.v4.new_notebook(cells=cells)  # type: ignore[no-any-return]


def _clean(cell: Any) -> NotebookNode:
    """A cell with its type, text, id and nbgrader's name for it; without outputs and any other metadata."""
    kind, source = cell["cell_type"], cell["source"]
    text = "".join(source) if isinstance(source, list) else source
    if kind not in ("code", "markdown", "raw") or not isinstance(text, str):
        raise ValueError(kind)
    make = {
        "code": nbformat.v4.new_code_cell,
        "markdown": nbformat.v4.new_markdown_cell,
        "raw": nbformat.v4.new_raw_cell,
    }
    clean: NotebookNode = make[kind](text)
    metadata = cell.get("metadata")
    named = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = named.get("grade_id") if isinstance(named, dict) else None
    identity = grade_id if isinstance(grade_id, str) else cell.get("id")
    clean.metadata["identity"] = identity if isinstance(identity, str) else ""
    return clean
