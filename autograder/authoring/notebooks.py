"""Builds a lab's three notebooks from its model: source (nbgrader's), release (the student's) and solution."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

import nbformat
from nbformat import NotebookNode
from traitlets.config import Config

from autograder.authoring.docstrings import wrap_docstrings
from autograder.authoring.regions import strip_hidden, strip_markers
from autograder.authoring.titles import find_title
from autograder.model.course import Cell, CellKind, Check, Exercise, Lab
from autograder.model.metadata import KEY, WRITE_HERE, clear_hidden, make_cell_metadata, make_lab_metadata

METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
FOLD_METADATA = {"jupyter": {"source_hidden": True}, "cellView": "form"}  # for JupyterLab, and for Colab
SOLUTION_KEY = "gradlab_solution"  # in a worked solution's metadata: the lab


def build_source_notebook(lab: Lab) -> NotebookNode:
    """Build the instructor's notebook, with solutions and hidden tests."""
    return build_notebook([_build_source_cell(cell, lab, cell.source) for cell in lab.cells], make_lab_metadata(lab))


def build_release_notebook(lab: Lab) -> NotebookNode:
    """Build the student's notebook: apply nbgrader's preprocessors to the source notebook, without its database."""
    notebook, resources = build_source_notebook(lab), {"metadata": {"path": ""}, "nbgrader": {}}
    for preprocessor in _create_preprocessors():
        notebook, resources = preprocessor.preprocess(notebook, resources)
    for cell in notebook.cells:
        clear_hidden(cell.metadata)
    return notebook


def build_solution_notebook(lab: Lab) -> NotebookNode:
    """Build the worked solution: prose, solutions and visible checks, without hidden tests and nbgrader metadata."""
    cells = []
    for cell in lab.cells:
        node = _build_source_cell(cell, lab, strip_markers(strip_hidden(cell)))
        node.metadata = NotebookNode(_make_fold_metadata(cell))
        cells.append(node)
    notebook = build_notebook(cells)
    notebook.metadata[SOLUTION_KEY] = lab.name
    return notebook


def to_text(notebook: NotebookNode) -> str:
    """Return the file's text as nbgrader writes it, with the same bytes every time."""
    return str(nbformat.v4.writes(notebook)) + "\n"


def format_score_line(exercise: Exercise) -> str:
    """Return the last line of a check cell, which shows the card, and gives nbgrader a partial score."""
    hidden = [check for check in exercise.checks if check.hidden]
    arguments = _format_labels("hidden", hidden) + _format_labels("required", [c for c in hidden if c.required])
    return f"check.score({json.dumps(exercise.name)}, points={exercise.worth:g}{arguments})"


def _format_labels(name: str, checks: Sequence[Check]) -> str:
    """Return an argument that lists the labels of these checks; "" if there are none."""
    items = "".join(f"\n    {json.dumps(check.label, ensure_ascii=False)}," for check in checks)
    return f", {name}=[{items}\n]" if checks else ""


def _build_source_cell(cell: Cell, lab: Lab, text: str) -> NotebookNode:
    if cell.kind is CellKind.CHECK:
        title = f"# @title Check: {_find_check_title(cell, lab)}"  # which Colab shows instead of the folded code
        text = f"{title}\n{text}\n{format_score_line(lab.exercise(cell.name))}"
    wraps = cell.kind is CellKind.EXERCISE
    text = wrap_docstrings(text) if wraps else text
    source = wrap_docstrings(cell.source) if wraps else cell.source
    stub = _clear_solution(source, cell.kind.traits.markdown) if cell.kind.traits.student_writes else ""
    metadata = {KEY: make_cell_metadata(cell, lab, stub, find_title(cell, lab)), **_make_fold_metadata(cell)}
    fields: dict[str, Any] = {"id": _truncate_id(cell.id), "metadata": metadata, "source": text}
    if flags := make_nbgrader_flags(cell):
        fields["metadata"]["nbgrader"] = flags
    if cell.kind.traits.markdown:
        fields["cell_type"] = "markdown"
    else:
        fields |= {"cell_type": "code", "execution_count": None, "outputs": []}
    node: NotebookNode = nbformat.from_dict(fields)
    return node


def _find_check_title(cell: Cell, lab: Lab) -> str:
    """Return what students call the exercise that a cell checks."""
    exercise = next(c for c in lab.cells if c.kind is CellKind.EXERCISE and c.name == cell.name)
    return find_title(exercise, lab) or cell.name


def _make_fold_metadata(cell: Cell) -> dict[str, Any]:
    """Return metadata that hides a cell's code until the reader opens it."""
    return dict(FOLD_METADATA) if cell.folded else {}


def _clear_solution(source: str, markdown: bool) -> str:
    """Return the text that nbgrader leaves of a cell with a solution."""
    from nbgrader.preprocessors import ClearSolutions

    flags = {"grade": False, "grade_id": "", "locked": False, "schema_version": 3, "solution": True, "task": False}
    kind = "markdown" if markdown else "code"
    cell = nbformat.from_dict({"cell_type": kind, "source": source, "metadata": {"nbgrader": flags}})
    return str(ClearSolutions(text_stub=WRITE_HERE).preprocess_cell(cell, {"language": "python"}, 0)[0].source)


def make_nbgrader_flags(cell: Cell) -> dict[str, Any]:
    """Return nbgrader's metadata of a cell; {} if students may change it and it isn't graded."""
    traits = cell.kind.traits
    if not (traits.locked or traits.student_writes):
        return {}
    flags: dict[str, Any] = {
        "grade": traits.graded,
        "grade_id": cell.id,
        "locked": traits.locked,
        "schema_version": 3,
        "solution": traits.student_writes,
        "task": False,
    }
    if traits.graded:
        flags["points"] = cell.worth
    return flags


def _truncate_id(cell_id: str) -> str:
    """Shorten an id to the 64 characters that nbformat allows."""
    return cell_id if len(cell_id) <= 64 else cell_id[:64]


def build_notebook(cells: list[NotebookNode], lab_metadata: dict[str, Any] | None = None) -> NotebookNode:
    """Build a notebook of these cells.

    Args:
        lab_metadata: The metadata of the lab; None in a worked solution.
    """
    metadata = NotebookNode(METADATA | ({KEY: lab_metadata} if lab_metadata else {}))
    notebook: NotebookNode = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    notebook.nbformat_minor = 5
    return notebook


@functools.cache
def _create_preprocessors() -> tuple[Any, ...]:
    """Return the preprocessors of nbgrader's `generate_assignment`, in its order.

    Left out are the one that writes the database, and the one that validates metadata, which the builder wrote.
    """
    from nbgrader.converters import GenerateAssignment
    from nbgrader.preprocessors import CheckCellMetadata, SaveCells

    classes = GenerateAssignment.class_traits()["preprocessors"].default_args[0]
    config = Config({"ClearSolutions": {"text_stub": WRITE_HERE}})
    return tuple(c(config=config) for c in classes if c not in (SaveCells, CheckCellMetadata))
