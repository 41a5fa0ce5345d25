"""The course that the desk shows, and the address of a question in its gradebook, found by names from a request."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, GradeCell, MissingEntry, Notebook, TaskCell
from nbgrader.coursedir import CourseDirectory

from autograder.base.errors import GradlabError
from autograder.classroom.late_penalty import load_late_penalty
from autograder.gradebook.autograded_folder import get_autograded_path
from autograder.gradebook.cell_address import CellAddress
from autograder.gradebook.gradebook_cells import GradebookCell, read_gradebook_cells
from autograder.gradebook.nbgrader_course import read_config
from autograder.gradebook.notebook_file import read_cells
from autograder.gradebook.submission_rows import CellKey
from autograder.gradebook.writer import Penalty
from autograder.model.metadata import get_answer_name, get_cell_name
from autograder.model.nbgrader_cells import read_nbgrader_metadata


class UnknownNameError(LookupError):
    """The gradebook doesn't know this name."""


@dataclass(frozen=True)
class Desk:
    """A course, with its gradebook and nbgrader_config.py."""

    course: Path
    db_url: str
    course_id: str
    config: Any
    penalty: Penalty

    def read_source(self, lab: str, notebook: str) -> list[Any]:
        """Read the cells of the source notebook, with solutions; empty if it's gone."""
        return read_cells(self.course / "source" / lab / f"{notebook}.ipynb")

    def read_autograded(self, lab: str, student: str, notebook: str) -> list[Any]:
        """Read the cells of a graded notebook."""
        return read_cells(get_autograded_path(self.course, lab, student, notebook))


@functools.cache
def open_desk(course: Path) -> Desk:
    """Open the desk of the course in this folder. Raises GradlabError if it isn't a course."""
    config = read_config(course)
    folder = CourseDirectory(config=config)
    return Desk(course, folder.db_url, folder.course_id, config, load_late_penalty(config))


def find_course(*folders: Path) -> Path:
    """Return the first of these folders that holds a course. Raises GradlabError if none does."""
    for folder in folders:
        if (folder / "nbgrader_config.py").is_file():
            return folder.resolve()
    raise GradlabError(
        "no course here: start the server in the course's folder (the one with nbgrader_config.py), or set "
        "c.GradlabDesk.course in jupyter_server_config.py"
    )


def list_addresses(desk: Desk, gradebook: Gradebook, lab: str) -> list[CellAddress]:
    """List the graded cells of a lab, in order. Raises UnknownNameError if the gradebook doesn't know the lab."""
    try:
        notebooks = sorted(gradebook.find_assignment(lab).notebooks, key=lambda row: row.name)
    except MissingEntry:
        raise UnknownNameError("the gradebook has no such lab") from None
    cells = read_gradebook_cells(gradebook, lab)
    return [address for row in notebooks for address in _build_addresses(desk, lab, row, cells)]


def find_address(desk: Desk, gradebook: Gradebook, lab: str, notebook: str, cell: str) -> CellAddress:
    """Find the graded cell with these names. Raises UnknownNameError if the gradebook doesn't know them."""
    for address in list_addresses(desk, gradebook, lab):
        if (address.notebook, address.cell) == (notebook, cell):
            return address
    raise UnknownNameError("the gradebook has no such question")


def _build_addresses(desk: Desk, lab: str, row: Notebook, cells: Mapping[CellKey, GradebookCell]) -> list[CellAddress]:
    """Build the addresses of a notebook's graded cells, in the source's order; those it no longer has come last."""
    tasks = {cell.name: cell for cell in row.task_cells}
    answers = {cell.name: cell.id for cell in row.solution_cells} | {name: cell.id for name, cell in tasks.items()}
    source = {get_cell_name(cell): read_nbgrader_metadata(cell) for cell in desk.read_source(lab, row.name)}
    order = list(source)
    graded: list[GradeCell | TaskCell] = [*row.grade_cells, *tasks.values()]
    addresses = [
        CellAddress(
            lab,
            row.name,
            cell.name,
            cell_id=cell.id,
            comment_id=answers.get(cell.name) or answers.get(get_answer_name(cell.name)),
            # in the gradebook, extra credit is worth 0
            worth=float(cell.max_score or source.get(cell.name, {}).get("points") or 0.0),
            by_hand=cells[row.name, cell.name].by_hand,
            task=cell.name in tasks,
        )
        for cell in graded
    ]
    return sorted(addresses, key=lambda address: order.index(address.cell) if address.cell in order else len(order))
