"""Checks for problems that keep nbgrader from reading an assignment into its gradebook, with their fixes.

In most of these cases, nbgrader itself ends with a traceback.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme, ClearSolutions
from nbgrader.utils import is_grade, is_task
from traitlets.config import Config

from autograder.base.errors import GradlabError
from autograder.intake.cell_origin import shorten_first_line
from autograder.model.assignments import list_source_notebooks
from autograder.model.nbgrader_cells import is_kept, read_grade_id, read_nbgrader_metadata
from autograder.stock.content import SILENT, refuse_other_languages, upgrade_metadata

NAME, NOT_IN_NAME = re.compile(r"[a-zA-Z0-9_-]*"), re.compile(r"[^a-zA-Z0-9_-]+")
PATTERNS = "*?[]"  # nbgrader treats names as file patterns
UNFIT = {"+": "nbgrader doesn't accept names with +", "{": "nbgrader replaces what is in braces"}


def refuse_unfit_source(course: Path, name: str, config: Mapping[str, Any]) -> None:
    """Raise GradlabError if nbgrader can't read source/NAME as it is."""
    _refuse_name(course / "source" / name)
    for path in list_source_notebooks(course, name):
        _refuse_name(path)
        notebook = _read(path)
        refuse_other_languages(
            path, notebook.metadata.get("kernelspec", {}), notebook.metadata.get("language_info", {})
        )
        _refuse_stub(path, notebook, config)
        _refuse_metadata(path, notebook)
        _refuse_regions(path, notebook, config)


def _refuse_name(path: Path) -> None:
    odd = [letter for letter in path.stem if letter in PATTERNS or letter in UNFIT]
    if odd:
        reason = UNFIT.get(odd[0], f"nbgrader reads {odd[0]} as a pattern of file names")
        clean_name = "".join("_" if letter in (*PATTERNS, *UNFIT, "}") else letter for letter in path.stem).strip("_")
        raise GradlabError(
            f"{path} can't be graded under this name: {reason}", fix=f"mv '{path}' {path.with_stem(clean_name)}"
        )


def _read(path: Path) -> NotebookNode:
    try:
        notebook = nbformat.read(path, as_version=4)
    except Exception as error:
        raise GradlabError(
            f"{path} isn't a notebook: {_get_first_line(error)}", fix="restore it, or save it again in JupyterLab"
        ) from None
    for number, cell in enumerate(notebook.cells, start=1):
        if not isinstance(read_nbgrader_metadata(cell), dict):
            raise _make_error(path, number, cell, "nbgrader's metadata isn't a dictionary", "remove it")
    try:
        return upgrade_metadata(notebook)
    except Exception as error:
        raise GradlabError(
            f"{path} has nbgrader metadata that nbgrader can't read: {_get_first_line(error)}",
            fix="set the cell up again with Create Assignment in JupyterLab",
        ) from None


def _refuse_stub(path: Path, notebook: NotebookNode, config: Mapping[str, Any]) -> None:
    """Refuse a language without a stub in nbgrader, which looks for the name exactly as written."""
    language = notebook.metadata.get("kernelspec", {}).get("language", "python")
    stubs = config.get("ClearSolutions", {}).get("code_stub", {"python": ""})
    if isinstance(stubs, Mapping) and language not in stubs:
        raise GradlabError(
            f'the language of {path} is "{language}", for which nbgrader has no stub',
            fix='write "language": "python" in metadata.kernelspec, or select the kernel again and save',
        )


def _refuse_metadata(path: Path, notebook: NotebookNode) -> None:
    """Raise GradlabError for a cell that nbgrader wouldn't read: its name, points or other metadata."""
    places: dict[str, int] = {}
    validator = MetadataValidator()
    for number, cell in enumerate(notebook.cells, start=1):
        if not read_nbgrader_metadata(cell):
            continue
        name = read_grade_id(cell)
        if not NAME.fullmatch(name):
            problem = f'its grade_id is "{name}", but nbgrader accepts only letters from a to z, digits, - and _'
            raise _make_error(
                path, number, cell, problem, f"change it to {NOT_IN_NAME.sub('_', name)} in Create Assignment"
            )
        if not is_kept(cell):
            continue
        if not name:
            raise _make_error(path, number, cell, "it has no grade_id", "give it one in Create Assignment")
        if name in places:
            problem = f"its grade_id is {name}, which cell {places[name]} has too"
            raise _make_error(path, number, cell, problem, "give one of them another name in Create Assignment")
        places[name] = number
        if is_grade(cell) or is_task(cell):
            _refuse_points(path, number, cell)
        try:
            validator.validate_cell(cell)
        except Exception as error:
            raise _make_error(
                path, number, cell, _get_first_line(error), "set its type again in Create Assignment"
            ) from None


def _refuse_points(path: Path, number: int, cell: NotebookNode) -> None:
    points = read_nbgrader_metadata(cell).get("points")
    try:
        is_valid = points is not None and math.isfinite(float(points)) and float(points) >= 0
    except (TypeError, ValueError):
        is_valid = False
    if not is_valid:
        problem = "it has no points" if points is None else f"its points are {json.dumps(points)}"
        raise _make_error(path, number, cell, problem, "set them in Create Assignment, to 0 or more")


def _refuse_regions(path: Path, notebook: NotebookNode, config: Mapping[str, Any]) -> None:
    """Refuse regions of solutions, hidden tests and mark schemes that don't end or aren't allowed in their cell."""
    for kind in (ClearSolutions, ClearHiddenTests, ClearMarkScheme):
        preprocessor = kind(config=Config({kind.__name__: dict(config.get(kind.__name__, {}))}))
        preprocessor.log = SILENT
        for number, cell in enumerate(notebook.cells, start=1):
            try:
                preprocessor.preprocess_cell(NotebookNode(cell), {"language": "python"}, number)
            except (RuntimeError, KeyError) as error:
                raise _make_error(
                    path, number, cell, _get_first_line(error), "look at its BEGIN and END lines"
                ) from None


def _make_error(path: Path, number: int, cell: NotebookNode, problem: str, fix: str) -> GradlabError:
    return GradlabError(f"{path}, cell {number}, which begins `{shorten_first_line(cell.source)}`: {problem}", fix=fix)


def _get_first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines or [type(error).__name__])[0]
