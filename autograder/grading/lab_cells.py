"""The code cells of a repaired lab notebook, with the course's metadata of each. Metadata is read here, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nbformat import NotebookNode
from nbgrader.utils import is_grade

from autograder.examiner.examination import Step
from autograder.model.course import CellKind, StepKind
from autograder.model.metadata import CellMetadata, get_cell_name, read_cell_metadata


@dataclass(frozen=True)
class LabCell:
    """One code cell."""

    node: NotebookNode
    """The cell in the notebook, which gets the outputs."""
    name: str
    number: int
    """Its execution count."""
    metadata: CellMetadata
    """The course's metadata; empty for a cell that the student added."""
    is_graded: bool

    @property
    def source(self) -> str:
        return str(self.node.source)

    @property
    def step(self) -> Step:
        """The cell as a step for the examiner."""
        kind, exercise = self.metadata.kind, self.metadata.exercise
        defined, checked = (exercise if kind is each else "" for each in (CellKind.EXERCISE, CellKind.CHECK))
        return Step(self.name, kind.traits.step or StepKind.STUDENT, self.source, self.number, defined, checked)


def parse_cells(notebook: NotebookNode) -> Sequence[LabCell]:
    """Return the code cells, in order."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [_parse_cell(cell, number) for number, cell in enumerate(code, start=1)]


def _parse_cell(cell: NotebookNode, number: int) -> LabCell:
    metadata = read_cell_metadata(cell) or CellMetadata(kind=CellKind.SCRATCH)  # added by the student
    return LabCell(cell, get_cell_name(cell), number, metadata, is_grade(cell))
