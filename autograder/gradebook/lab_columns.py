"""Reads the graded cells of a lab, which are the columns of its tables, and how people name them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nbgrader.api import Assignment, Gradebook, Notebook
from sqlalchemy import func, select

from autograder.gradebook.class_results import Column
from autograder.gradebook.gradebook_cells import is_extra_credit, read_gradebook_cells
from autograder.gradebook.labels import CellLabels
from autograder.model.assignments import find_kind
from autograder.model.metadata import read_cell_metadata


def read_labels(gradebook: Gradebook, course: Path, lab: str) -> CellLabels:
    """Read how people name the graded cells of this lab. A stock assignment may have several notebooks."""
    count = select(func.count()).select_from(Notebook).join(Notebook.assignment).where(Assignment.name == lab)
    return CellLabels(find_kind(course, lab), gradebook.db.scalars(count).one() > 1)


def read_columns(
    gradebook: Gradebook, lab: str, labels: CellLabels, source: Sequence[Any], extra: Sequence[str]
) -> tuple[Column, ...]:
    """Read the columns. Extra credit is worth 0 in the gradebook, so the notebook says how much it adds.

    Args:
        source: The cells of the source notebook.
        extra: Exercises that term.toml makes extra credit.
    """
    metadata = {
        metadata.exercise: metadata
        for cell in source
        if (metadata := read_cell_metadata(cell)) and metadata.kind.traits.graded
    }
    order = list(metadata)
    columns = {}
    for cell in read_gradebook_cells(gradebook, lab).values():
        name = labels.label(cell.notebook, cell.name)
        course_worth = metadata[name].points if name in metadata else 0.0
        is_extra = is_extra_credit(labels, cell, course_worth, extra)
        columns[name] = Column(
            name, course_worth if is_extra and name in metadata else cell.worth, cell.by_hand, is_extra
        )
    return tuple(sorted(columns.values(), key=lambda c: order.index(c.name) if c.name in order else len(order)))
