"""From the model of a lab to its three notebooks: source (nbgrader's), release (the student's) and solution."""

from __future__ import annotations

import functools
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.authoring.regions import without_hidden, without_markers
from autograder.course import Cell, Exercise, Kind, Lab
from autograder.metadata import KEY, clear_hidden, written

METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def source_notebook(lab: Lab) -> NotebookNode:
    """The notebook that the instructor grades from: solutions and hidden tests included."""
    return _notebook([_source_cell(cell, lab, cell.source) for cell in lab.cells])


def release_notebook(lab: Lab) -> NotebookNode:
    """The student's notebook: nbgrader's own preprocessors on the source notebook, without its database."""
    notebook, resources = source_notebook(lab), {"metadata": {"path": ""}, "nbgrader": {}}
    for preprocessor in _stripping():
        notebook, resources = preprocessor.preprocess(notebook, resources)
    for cell in notebook.cells:
        clear_hidden(cell.metadata)
    return notebook


def solution_notebook(lab: Lab) -> NotebookNode:
    """The worked solution: prose, solutions and visible checks. No hidden test, no nbgrader metadata."""
    cells = []
    for cell in lab.cells:
        node = _source_cell(cell, lab, without_markers(without_hidden(cell)))
        node.metadata = NotebookNode()
        cells.append(node)
    return _notebook(cells)


def to_text(notebook: NotebookNode) -> str:
    """The file's text as nbgrader writes it, the same bytes every time."""
    return str(nbformat.v4.writes(notebook)) + "\n"


def score_line(exercise: Exercise) -> str:
    """The last line of a check cell: it shows the table, and gives nbgrader a partial score."""
    return (
        f"check.score(points={exercise.points:g}, visible={exercise.visible_points:g}, checks={len(exercise.checks)})"
    )


def worth_line(exercise: Exercise) -> str:
    """The first line of a check cell: what can be seen here, and what only the hidden checks decide."""
    hidden = round(exercise.points - exercise.visible_points, 4)
    rest = f", the hidden ones decide the other {hidden:g}" if hidden else ""
    return f"# {exercise.name}, {_points(exercise.points)}: the checks below show {exercise.visible_points:g}{rest}."


def _points(points: float) -> str:
    return f"{points:g} point" if points == 1 else f"{points:g} points"


def _source_cell(cell: Cell, lab: Lab, text: str) -> NotebookNode:
    if cell.kind is Kind.CHECK:
        exercise = lab.exercise(cell.name)
        text = "\n".join([worth_line(exercise), text, score_line(exercise)])
    fields: dict[str, Any] = {"id": _short(cell.id), "metadata": {KEY: written(cell, lab)}, "source": text}
    if flags := nbgrader_flags(cell):
        fields["metadata"]["nbgrader"] = flags
    if cell.kind.traits.markdown:
        fields["cell_type"] = "markdown"
    else:
        fields |= {"cell_type": "code", "execution_count": None, "outputs": []}
    node: NotebookNode = nbformat.from_dict(fields)
    return node


def nbgrader_flags(cell: Cell) -> dict[str, Any]:
    """nbgrader's metadata of a cell; none for what a student may change and nobody grades."""
    traits = cell.kind.traits
    if not (traits.locked or traits.written):
        return {}
    flags: dict[str, Any] = {
        "grade": traits.graded,
        "grade_id": cell.id,
        "locked": traits.locked,
        "schema_version": 3,
        "solution": traits.written,
        "task": False,
    }
    if traits.graded:
        flags["points"] = cell.points
    return flags


def _short(cell_id: str) -> str:
    """nbformat allows ids of 64 characters."""
    return cell_id if len(cell_id) <= 64 else cell_id[:64]


def _notebook(cells: list[NotebookNode]) -> NotebookNode:
    notebook: NotebookNode = nbformat.v4.new_notebook(cells=cells, metadata=NotebookNode(METADATA))
    notebook.nbformat_minor = 5
    return notebook


@functools.cache
def _stripping() -> tuple[Any, ...]:
    """nbgrader's preprocessors of `generate_assignment` in its order, without those that change no cell.

    Left out are the one that writes its database and the one that validates metadata, which the builder wrote itself.
    """
    from nbgrader.converters import GenerateAssignment
    from nbgrader.preprocessors import CheckCellMetadata, SaveCells

    classes = GenerateAssignment.class_traits()["preprocessors"].default_args[0]
    return tuple(c() for c in classes if c not in (SaveCells, CheckCellMetadata))
