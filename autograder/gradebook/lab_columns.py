"""Reads the graded cells of a lab, which are the columns of its tables, and how people name them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nbgrader.api import Assignment, Gradebook, GradeCell, Notebook, SolutionCell, TaskCell
from sqlalchemy import func, select

from autograder.gradebook.lab_class import Column
from autograder.gradebook.labels import CellLabels
from autograder.model.assignments import find_kind
from autograder.model.metadata import read_facts


def read_labels(gradebook: Gradebook, course: Path, lab: str) -> CellLabels:
    """Read how people name the graded cells of this lab. A stock assignment may have several notebooks."""
    count = select(func.count()).select_from(Notebook).join(Notebook.assignment).where(Assignment.name == lab)
    return CellLabels(find_kind(course, lab), gradebook.db.scalars(count).one() > 1)


def read_worth(gradebook: Gradebook, lab: str) -> dict[tuple[str, str], float]:
    """Read what each graded cell is worth in the gradebook, by notebook and cell: 0 for extra credit."""
    return {(notebook, cell): worth for _, notebook, cell, worth, _ in _list_graded_cells(gradebook, lab)}


def read_columns(
    gradebook: Gradebook, lab: str, labels: CellLabels, source: Sequence[Any], extra: Sequence[str]
) -> tuple[Column, ...]:
    """Read the columns. Extra credit is worth 0 in the gradebook, so the notebook says how much it adds.

    Args:
        source: The cells of the source notebook.
        extra: Exercises that term.toml makes extra credit.
    """
    facts = {facts.exercise: facts for cell in source if (facts := read_facts(cell)) and facts.kind.traits.graded}
    order = list(facts)
    query = select(Notebook.name, SolutionCell.name).join(SolutionCell.notebook).join(Assignment)
    answers = {tuple(row) for row in gradebook.db.execute(query.where(Assignment.name == lab))}
    columns = {}
    for is_task, notebook, cell, worth, cell_type in _list_graded_cells(gradebook, lab):
        by_hand = is_task or cell_type == "markdown" or (notebook, cell) in answers
        name = labels.label(cell, notebook)
        is_extra = any(labels.has_name(each, cell, notebook) for each in extra) or (
            not worth and name in facts and facts[name].points > 0
        )
        columns[name] = Column(name, facts[name].points if is_extra and name in facts else worth, by_hand, is_extra)
    return tuple(sorted(columns.values(), key=lambda c: order.index(c.name) if c.name in order else len(order)))


def _list_graded_cells(gradebook: Gradebook, lab: str) -> Iterator[tuple[bool, str, str, float, str]]:
    """Yield of each graded cell: whether it's a task, its notebook, its name, its points, and its type in Jupyter."""
    for kind in (GradeCell, TaskCell):
        cells = select(Notebook.name, kind.name, kind.max_score, kind.cell_type).join(kind.notebook).join(Assignment)
        for notebook, cell, worth, cell_type in gradebook.db.execute(cells.where(Assignment.name == lab)):
            yield kind is TaskCell, notebook, cell, worth or 0.0, cell_type
