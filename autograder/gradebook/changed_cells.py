"""Updates the gradebook's rows when cells of an assignment change after students submitted it; marks by hand stay.

nbgrader refuses to add or remove a cell once there are submissions. Here each submission gets a row for a new cell,
a renamed cell keeps its rows, and marks by hand for a removed cell are written to a file before its rows are deleted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbgrader.api import (
    Comment,
    Grade,
    Gradebook,
    GradeCell,
    Notebook,
    SolutionCell,
    SourceCell,
    SubmittedNotebook,
    TaskCell,
)

from autograder.base.line_file import add_line

Cells = Mapping[str, Mapping[str, Any]]  # the columns of each cell's row, by name
LOST_MARKS = "removed_cell_marks.jsonl"  # in results/LAB
KINDS: Mapping[str, Any] = {"grade": GradeCell, "solution": SolutionCell, "task": TaskCell, "source": SourceCell}


@dataclass
class ChangedCells:
    """Names of cells that changed."""

    new: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    """Old and new names."""
    lost: list[dict[str, Any]] = field(default_factory=list)
    """Marks by hand for removed cells, a row for each student and cell."""

    def __bool__(self) -> bool:
        return bool(self.new or self.gone or self.renamed)

    def describe(self) -> str:
        parts = [
            ("new", self.new),
            ("removed", self.gone),
            ("renamed", [f"{old} to {new}" for old, new in self.renamed]),
        ]
        return "; ".join(f"{change}: {', '.join(names)}" for change, names in parts if names)


def update_cells(gradebook: Gradebook, notebook: Notebook, now: Mapping[str, Cells]) -> ChangedCells:
    """Give the notebook the rows of these cells, and each of its submissions the rows that belong to them.

    Args:
        now: The notebook's cells now, by kind and name.
    """
    changes = ChangedCells()
    rows = {kind: {row.name: row for row in _get_rows(notebook, kind)} for kind in KINDS}
    if all(set(rows[kind]) == set(now[kind]) for kind in KINDS):
        return changes
    for old, new in _find_renames(rows, now):
        for kind in KINDS:
            if row := rows[kind].pop(old, None):
                row.name = new
                rows[kind][new] = row
        changes.renamed.append((old, new))
    for kind in KINDS:
        for name in [name for name in rows[kind] if name not in now[kind]]:
            _remove(gradebook, rows[kind].pop(name), changes)
        for name in [name for name in now[kind] if name not in rows[kind]]:
            _add(gradebook, notebook, kind, name, now[kind][name])
            changes.new += [name] if kind in ("grade", "task") else []
    gradebook.db.flush()
    return changes


def update_notebooks(gradebook: Gradebook, assignment: Any, now: Mapping[str, Set[str]]) -> ChangedCells:
    """Give the assignment rows for exactly these notebooks, and each submission the rows that belong to them.

    Args:
        now: nbgrader's names of the cells, by notebook. A new notebook that shares cells with a removed one renames it.
    """
    changes, names = ChangedCells(), list(now)
    notebooks = {notebook.name: notebook for notebook in assignment.notebooks}
    if not assignment.submissions or not notebooks:
        return changes
    for name in [name for name in names if name not in notebooks]:
        gone = [row for old, row in notebooks.items() if old not in names]
        best = max(gone, key=lambda row: len(now[name] & _list_names(row)), default=None)
        if best is not None and now[name] & _list_names(best):
            changes.renamed.append((f"{best.name}.ipynb", f"{name}.ipynb"))
            notebooks[name] = notebooks.pop(best.name)
            best.name = name
    for name in [name for name in notebooks if name not in names]:
        for kind in KINDS:
            for row in list(_get_rows(notebooks[name], kind)):
                _remove(gradebook, row, changes)
        for submitted in list(notebooks[name].submissions):
            gradebook.db.delete(submitted)
        gradebook.db.flush()
        gradebook.db.delete(notebooks[name])
        changes.gone.append(f"{name}.ipynb")
    for name in [name for name in names if name not in notebooks]:
        notebook = Notebook(name=name, assignment=assignment)
        gradebook.db.add(notebook)
        for submission in assignment.submissions:
            gradebook.db.add(SubmittedNotebook(notebook=notebook, assignment=submission))
        changes.new.append(f"{name}.ipynb")
    return changes


def write_lost_marks(changes: ChangedCells, course: Path, lab: str) -> None:
    """Write the lost marks to a file before the gradebook drops them."""
    if changes.lost:
        add_line(course / "results" / lab / LOST_MARKS, "\n".join(json.dumps(row) for row in changes.lost))


def _list_names(notebook: Notebook) -> set[str]:
    return {cell.name for cell in notebook.source_cells}


def _get_rows(notebook: Notebook, kind: str) -> Sequence[Any]:
    rows: Sequence[Any] = getattr(notebook, f"{kind}_cells")
    return rows


def _find_renames(rows: Mapping[str, Mapping[str, Any]], now: Mapping[str, Cells]) -> list[tuple[str, str]]:
    """Return old and new names of removed cells that match new ones in text and kinds, in order."""

    def make_key(name: str, by_kind: Mapping[str, Any], cell: Any) -> tuple[Any, ...]:
        columns = cell if isinstance(cell, Mapping) else {"source": cell.source, "cell_type": cell.cell_type}
        return (columns["source"] or "").strip(), columns["cell_type"], *(name in by_kind[kind] for kind in KINDS)

    new: dict[tuple[Any, ...], list[str]] = {}
    for name, cell in now["source"].items():
        if name not in rows["source"]:
            new.setdefault(make_key(name, now, cell), []).append(name)
    renames = []
    for name, row in rows["source"].items():
        same = new.get(make_key(name, rows, row), []) if name not in now["source"] else []
        if same:
            renames.append((name, same.pop(0)))
    return renames


def _add(gradebook: Gradebook, notebook: Notebook, kind: str, name: str, columns: Mapping[str, Any]) -> None:
    columns = {key: value for key, value in columns.items() if key not in ("id", "name", "notebook", "assignment")}
    if kind != "solution":
        columns = {"cell_type": "code", **columns}
    cell = KINDS[kind](name=name, notebook=notebook, **columns)
    gradebook.db.add(cell)
    for submitted in notebook.submissions:
        if kind in ("grade", "task"):
            gradebook.db.add(Grade(cell=cell, notebook=submitted))
        if kind in ("solution", "task"):
            gradebook.db.add(Comment(cell=cell, notebook=submitted))


def _remove(gradebook: Gradebook, cell: Any, changes: ChangedCells) -> None:
    """Delete a cell and its rows. Marks and comments by hand are added to `changes.lost` first."""
    if isinstance(cell, SourceCell):
        gradebook.db.delete(cell)
        return
    for grade in list(cell.grades):
        if grade.manual_score is not None or grade.extra_credit:
            points = {"points": grade.manual_score, "extra credit": grade.extra_credit}
            changes.lost.append(_make_lost_row(grade.notebook, cell.name) | points)
        gradebook.db.delete(grade)
    for comment in list(cell.comments):
        if comment.manual_comment:
            changes.lost.append(_make_lost_row(comment.notebook, cell.name) | {"comment": comment.manual_comment})
        gradebook.db.delete(comment)
    if isinstance(cell, GradeCell | TaskCell):
        changes.gone.append(cell.name)
    gradebook.db.flush()
    gradebook.db.delete(cell)


def _make_lost_row(submitted: Any, cell: str) -> dict[str, Any]:
    return {"student": submitted.student.id, "notebook": submitted.notebook.name, "cell": cell}
