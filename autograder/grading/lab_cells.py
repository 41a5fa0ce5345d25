"""The code cells of a repaired lab notebook, with the course's facts about each. Metadata is read here, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nbformat import NotebookNode
from nbgrader.utils import is_grade

from autograder.examiner.examination import Step
from autograder.model.course import Kind
from autograder.model.metadata import Facts, get_cell_name, read_facts


@dataclass(frozen=True)
class LabCell:
    """One code cell."""

    node: NotebookNode
    """The cell in the notebook, which gets the outputs."""
    name: str
    number: int
    """Its execution count."""
    facts: Facts
    """The course's facts; empty for a cell that the student added."""
    is_graded: bool

    @property
    def source(self) -> str:
        return str(self.node.source)

    @property
    def step(self) -> Step:
        """The cell as a step for the examiner."""
        exercise = self.facts.exercise if self.facts.kind is Kind.EXERCISE else ""
        return Step(self.name, self.facts.kind.traits.step or "student", self.source, self.number, exercise)


def parse_cells(notebook: NotebookNode) -> Sequence[LabCell]:
    """Return the code cells, in order."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [_parse_cell(cell, number) for number, cell in enumerate(code, start=1)]


def _parse_cell(cell: NotebookNode, number: int) -> LabCell:
    facts = read_facts(cell) or Facts(kind=Kind.SCRATCH)  # added by the student
    return LabCell(cell, get_cell_name(cell), number, facts, is_grade(cell))
