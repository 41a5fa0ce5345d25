"""Whether two graders agree on every mark, and on every output of the cells that aren't checks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook

Marks = dict[str, dict[str, float]]  # the points of each check cell, by student
TOLERANCE = 1e-3  # Gradlab rounds a cell's points to four decimal places, otter doesn't
# Text that differs between any two kernels: addresses, the names of cells in tracebacks, times, the ids of widgets.
REPLACEMENTS = {
    r"USDT:[\d\- :]+": "USDT",
    r"0x[0-9a-f]{6,}": "0x",
    r"/ipykernel_\d+/": "/ipykernel/",
    r"[\d.]+ (ns|[µμ]s|ms|s)\b": "TIME",
    r"\b[0-9a-f]{32}\b": "ID",
}


def read_marks(course: Path, lab: str) -> Marks:
    """Read the points of the check cells from a course's gradebook."""
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


def find_differing_marks(marks: Marks, other_marks: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Describe each check cell for which two graders give different points.

    Args:
        other_marks: The other grader's, of all students in marks or only some of them.
    """
    return [
        f"{student} {cell}: {marks[student].get(cell)} and {points}"
        for student, cells in other_marks.items()
        for cell, points in cells.items()
        if points is None or abs(marks[student].get(cell, -1.0) - points) > TOLERANCE
    ]


def compare_outputs(course: Path, other_course: Path, lab: str) -> tuple[int, list[str]]:
    """Compare the outputs in two courses' graded notebooks.

    Returns:
        How many cells were compared, and "student cell" for each one whose outputs differ.
    """
    compared_count, differing = 0, []
    for path in sorted(course.glob(f"autograded/*/{lab}/{lab}.ipynb")):
        student = path.parent.parent.name
        one, two = (_read_outputs(each / "autograded" / student / lab / path.name) for each in (course, other_course))
        compared_count += len(one)
        differing += [f"{student} {cell}" for cell in sorted(one | two) if one.get(cell) != two.get(cell)]
    return compared_count, differing


def _read_outputs(path: Path) -> dict[str, str]:
    notebook = nbformat.read(path, as_version=4)
    return {
        str(flags.get("grade_id", cell.id)): _normalize_outputs(cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code" and not (flags := cell.metadata.get("nbgrader", {})).get("grade")
    }


def _normalize_outputs(outputs: list[Any]) -> str:
    """Return the outputs as text that can be compared.

    Consecutive texts of one stream are joined, since where a kernel splits them depends on timing.
    """
    joined: list[dict[str, Any]] = []
    for output in outputs:
        content = {key: value for key, value in output.items() if key != "execution_count"}
        if joined and content["output_type"] == "stream" and joined[-1].get("name") == content["name"]:
            joined[-1]["text"] += content["text"]
        else:
            joined.append(content)
    text = repr(joined)
    for pattern, replacement in REPLACEMENTS.items():
        text = re.sub(pattern, replacement, text)
    return text
