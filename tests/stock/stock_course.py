"""A course made for stock nbgrader, graded by it or by Gradlab, and the resulting gradebook."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook

OURS = """from autograder.nbgrader_plugin import configure

c = get_config()
c.CourseDirectory.course_id = "own"
configure(c)
c.Examine.cell_seconds = 4
"""
# Gradlab restores deleted tests; nbgrader is configured to do the same.
STOCK = """c = get_config()
c.CourseDirectory.course_id = "own"
c.OverwriteCells.add_missing_cells = True
c.Execute.timeout = 60
"""
Cell = dict[str, Any]
Row = tuple[str, str, float, float, bool, list[Any], list[Any]]


def make_cell(source: str, kind: str = "code", cell_id: str = "", **flags: Any) -> Cell:
    """A cell without an id, as in format 4.4, unless one is given."""
    cell: Cell = {"cell_type": kind, "metadata": {}, "source": source}
    if flags:
        cell["metadata"]["nbgrader"] = {"grade": False, "locked": False, "solution": False, "schema_version": 3} | flags
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell | ({"id": cell_id} if cell_id else {})


def make_solution(name: str, source: str) -> Cell:
    return make_cell(source, solution=True, grade_id=name)


def make_test(name: str, source: str, points: float = 1) -> Cell:
    return make_cell(source, grade=True, locked=True, grade_id=name, points=points)


def make_manual(name: str, source: str, points: float = 2, kind: str = "markdown") -> Cell:
    return make_cell(source, kind, grade=True, solution=True, grade_id=name, points=points)


def make_given(name: str, source: str, kind: str = "code") -> Cell:
    return make_cell(source, kind, locked=True, grade_id=name)


def make_task(name: str, source: str, points: float = 2) -> Cell:
    return make_cell(source, "markdown", task=True, locked=True, grade_id=name, points=points)


def make_notebook(*cells: Cell, minor: int = 4) -> str:
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return json.dumps(
        {"nbformat": 4, "nbformat_minor": minor, "metadata": {"kernelspec": kernelspec}, "cells": [*cells]}
    )


def answer_notebook(source: str, answers: Mapping[str, str | None]) -> str:
    """The notebook with other texts in the cells with these names, and without the cells whose text is None."""
    data = json.loads(source)
    names = [c["metadata"].get("nbgrader", {}).get("grade_id", "") for c in data["cells"]]
    for name, made_cell in zip(names, data["cells"], strict=True):
        made_cell["source"] = answers.get(name, made_cell["source"])
    data["cells"] = [c for c in data["cells"] if c["source"] is not None]
    return json.dumps(data)


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def run(course: Path, *command: str) -> str:
    """Run a command in the course's folder, and return its output."""
    scripts = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    process = subprocess.run(
        [scripts / command[0], *command[1:]], cwd=course, env=environment, capture_output=True, text=True
    )
    return f"{process.stdout}\n{process.stderr}\nexit status {process.returncode}"


def copy_course(course: Path, to: Path, config: str) -> Path:
    """Copy only the course's folders, for another grader."""
    for folder in ("source", "submitted"):
        shutil.copytree(course / folder, to / folder)
    for path in course.glob("*.yml"):
        shutil.copy(path, to)
    (to / "nbgrader_config.py").write_text(config)
    return to


def release(course: Path, assignments: Sequence[str]) -> None:
    for assignment in assignments:
        output = run(course, "nbgrader", "generate_assignment", assignment, "--force")
        assert "exit status 0" in output, output


def read_rows(course: Path) -> list[Row]:
    """The gradebook's rows for every submitted notebook."""
    rows = []
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        for assignment in gradebook.assignments:
            for submission in assignment.submissions:
                for part in submission.notebooks:
                    grades = sorted((g.name, g.auto_score, g.needs_manual_grade) for g in part.grades)
                    comments = sorted((c.name, c.auto_comment) for c in part.comments)
                    name = f"{assignment.name}/{submission.student_id}"
                    state = (part.score, part.max_score, part.needs_manual_grade)
                    rows.append((name, part.name, *state, grades, comments))
    return sorted(rows)


def read_marks(course: Path, student: str, assignment: str = "ps1", part: str = "p1") -> dict[str, float | None]:
    """grade_id -> its automatic score."""
    ((*_, grades, _),) = [row for row in read_rows(course) if row[:2] == (f"{assignment}/{student}", part)]
    return {name: score for name, score, _ in grades}
