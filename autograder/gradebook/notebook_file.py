"""Reads notebooks that Gradlab or the course wrote. intake/notebook_reading.py reads those that students wrote."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import nbjson
from pydantic_core import from_json

from autograder.base.errors import GradlabError
from autograder.model.metadata import KEY


def read_course_notebook(path: Path) -> NotebookNode:
    """Read the notebook, and validate it."""
    notebook: NotebookNode = nbformat.read(path, as_version=4)
    return notebook


def read_cells(path: Path) -> list[Any]:
    """Read the cells without validating them, since a class has many; empty if they can't be read."""
    try:
        return list(nbjson.reads(path.read_text(encoding="utf-8")).cells)
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return []


def read_plain_cells(path: Path) -> list[Any]:
    """Read the cells without nbformat, in a tenth of the time, for a whole class; empty if there is no such file."""
    try:
        cells = from_json(path.read_bytes())["cells"]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError) as error:
        raise GradlabError(f"{path} isn't a notebook", fix=f"grade this submission again\n    {error}") from None
    return [SimpleNamespace(**{**cell, "source": _join_lines(cell["source"])}) for cell in cells]


def read_lab_title(course: Path, lab: str) -> str:
    """Read the lab's title from its source notebook. A stock assignment has none, so its name is returned."""
    try:
        notebook = from_json((course / "source" / lab / f"{lab}.ipynb").read_bytes())
        return str(notebook["metadata"][KEY]["title"]) or lab
    except (OSError, ValueError, KeyError, TypeError):
        return lab


def _join_lines(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)
