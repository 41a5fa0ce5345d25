"""The address of a graded cell in the gradebook."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.model.metadata import make_stock_name


@dataclass(frozen=True)
class CellAddress:
    """A graded cell, with its names in the gradebook."""

    lab: str
    notebook: str
    cell: str
    cell_id: str
    """The id of its row in the gradebook."""
    comment_id: str | None
    """The row id of the cell that comments belong to, if there is one."""
    worth: float
    by_hand: bool
    """Whether a person always reads it."""
    task: bool
    """Whether it's an nbgrader task, which students answer in cells after it."""

    @property
    def key(self) -> str:
        """Its key among the rubrics of its lab."""
        return self.cell if self.notebook == self.lab else make_stock_name(self.notebook, self.cell)
