"""Finds the answer that a mark is for, in a lab assignment or in a stock one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from nbgrader.utils import is_grade, is_solution, is_task

from autograder.gradebook.cell_address import CellAddress
from autograder.gradebook.labels import CellLabels
from autograder.intake.cell_origin import find_lab_answer, find_stock_answer, is_students
from autograder.model.assignments import AssignmentKind
from autograder.model.metadata import get_answer_name, get_cell_name, make_stock_name
from autograder.model.nbgrader_cells import has_nbgrader_metadata


class AnswerCells(Protocol):
    """Finds the cells that a mark is about, and their names."""

    def select(self, cells: Sequence[Any], address: CellAddress) -> list[Any]:
        """Return the cells of a student's notebook that this mark is about."""

    def get_source_name(self, address: CellAddress) -> str:
        """Return the name of the source cell that holds the worked answer."""

    def get_result_id(self, address: CellAddress) -> str:
        """Return the graded cell's id in result documents."""

    def label(self, address: CellAddress) -> str:
        """Return the label that feedback pages use."""


class LabAnswerCells:
    """The answers of a lab assignment: the exercise's or question's cell, with code cells that were added after it."""

    def select(self, cells: Sequence[Any], address: CellAddress) -> list[Any]:
        name = get_answer_name(address.cell)
        starts = [start for start, cell in enumerate(cells) if get_cell_name(cell) == name]
        return [cells[number] for start in starts for number in find_lab_answer(cells, start)]

    def get_source_name(self, address: CellAddress) -> str:
        return get_answer_name(address.cell)

    def get_result_id(self, address: CellAddress) -> str:
        return address.cell

    def label(self, address: CellAddress) -> str:
        return CellLabels(AssignmentKind.LAB).label(address.notebook, address.cell)


class StockAnswerCells:
    """The answers of a stock assignment.

    Tests are about the code before them; the last tests are also about everything that the student wrote after them.
    An answer is shown with everything that the student wrote next to it.
    """

    def select(self, cells: Sequence[Any], address: CellAddress) -> list[Any]:
        if not (address.by_hand or address.task):
            return _collect_tested_code(cells, address.cell)
        start = next((number for number, cell in enumerate(cells) if get_cell_name(cell) == address.cell), None)
        return [] if start is None else [cells[number] for number in find_stock_answer(cells, start)]

    def get_source_name(self, address: CellAddress) -> str:
        return address.cell

    def get_result_id(self, address: CellAddress) -> str:
        return make_stock_name(address.notebook, address.cell)

    def label(self, address: CellAddress) -> str:
        return CellLabels(AssignmentKind.STOCK, has_several=address.notebook != address.lab).label(
            address.notebook, address.cell
        )


def _collect_tested_code(cells: Sequence[Any], tests: str) -> list[Any]:
    """Return the student's code between these tests and the previous ones; for the last tests, also the code after."""
    since: list[Any] = []
    for number, cell in enumerate(cells):
        if get_cell_name(cell) == tests:
            rest = cells[number + 1 :]
            is_last = not any(is_grade(other) or is_task(other) for other in rest)
            return since + [other for other in rest if is_last and (is_students(other) or is_solution(other))]
        if is_grade(cell):
            since = []
        elif cell.cell_type == "code" and (is_solution(cell) or not has_nbgrader_metadata(cell)):
            since.append(cell)
    return []
