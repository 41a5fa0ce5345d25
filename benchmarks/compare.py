"""Whether two graders agree: on every mark, and on every output of the cells that are no checks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook

Marks = dict[str, dict[str, float]]  # student -> points of each check cell
CLOSE = 1e-3  # Gradlab rounds the points of a cell to four places, otter does not
# What two kernels never say alike: addresses, the names of cells in tracebacks, times, the ids of widgets.
SAME = {
    r"USDT:[\d\- :]+": "USDT",
    r"0x[0-9a-f]{6,}": "0x",
    r"/ipykernel_\d+/": "/ipykernel/",
    r"[\d.]+ (ns|[µμ]s|ms|s)\b": "TIME",
    r"\b[0-9a-f]{32}\b": "ID",
}


def marks_in(course: Path, lab: str) -> Marks:
    """What the gradebook of a course says of the check cells."""
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        return {
            submission.student_id: {
                grade.name: grade.auto_score
                for notebook in submission.notebooks
                for grade in notebook.grades
                if grade.name.startswith("check-")
            }
            for submission in gradebook.assignment_submissions(lab)
        }


def differing_marks(ours: Marks, theirs: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The check cells, by student, of which the two say something else. Those of students that both graded."""
    return [
        f"{student} {cell}: {ours[student].get(cell)} and {points}"
        for student, cells in theirs.items()
        for cell, points in cells.items()
        if points is None or abs(ours[student].get(cell, -1.0) - points) > CLOSE
    ]


def differing_outputs(ours: Path, theirs: Path, lab: str) -> tuple[int, list[str]]:
    """How many cells were compared, and those of which the two courses' graded notebooks show something else."""
    compared, differing = 0, []
    for path in sorted(ours.glob(f"autograded/*/{lab}/{lab}.ipynb")):
        student = path.parent.parent.name
        one, two = (_outputs(course / "autograded" / student / lab / path.name) for course in (ours, theirs))
        compared += len(one)
        differing += [f"{student} {cell}" for cell in sorted(one | two) if one.get(cell) != two.get(cell)]
    return compared, differing


def _outputs(path: Path) -> dict[str, str]:
    notebook = nbformat.read(path, as_version=4)
    return {
        str(flags.get("grade_id", cell.id)): _alike(cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code" and not (flags := cell.metadata.get("nbgrader", {})).get("grade")
    }


def _alike(outputs: list[Any]) -> str:
    """As text. Consecutive texts of a stream are one: where a kernel cuts them depends on time."""
    joined: list[dict[str, Any]] = []
    for output in outputs:
        shown = {key: value for key, value in output.items() if key != "execution_count"}
        if joined and shown["output_type"] == "stream" and joined[-1].get("name") == shown["name"]:
            joined[-1]["text"] += shown["text"]
        else:
            joined.append(shown)
    text = repr(joined)
    for pattern, word in SAME.items():
        text = re.sub(pattern, word, text)
    return text
