"""A small class that takes a while to grade, and all that grading it writes, to be compared."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook

from autograder.authoring.course_folder import read_course, read_labs
from autograder.demo.students import collect_reference, fill_notebook

LAB = "01_squares"
SLOWLY = "import time\ntime.sleep(0.3)\n"
FOR_EVER = "import time\ntime.sleep(36000)\n"
WRONG = "def sum_of_squares(x):\n    return x.sum()\n"


def hand_in(course: Path, answers: Mapping[str, str | None], before: str = "") -> None:
    """student -> the answer's source, None for the worked solution. before: a cell of the student's own, at the top."""
    (lab,) = read_labs(read_course(course))
    for student, source in answers.items():
        notebook = fill_notebook(lab, collect_reference(lab) if source is None else {"sum_of_squares": source})
        if before:
            notebook.cells.insert(0, nbformat.v4.new_code_cell(f"{before}# {student}", id="before"))
        folder = course / "submitted" / student / LAB
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{LAB}.ipynb").write_text(json.dumps(notebook))


def be_patient(course: Path) -> None:
    """Allow FOR_EVER in this course as much time as a test may take."""
    with (course / "nbgrader_config.py").open("a") as config:
        config.write("\nc.Examine.cell_seconds = 36000\nc.Examine.submission_seconds = 100000\n")


def read_gradebook_rows(course: Path, students: bool = True) -> dict[str, Any]:
    """The gradebook's rows of each submission, without random ids."""
    rows = {}
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        for submission in gradebook.assignment_submissions(LAB):
            (notebook,) = submission.notebooks
            rows[submission.student_id] = (
                submission.timestamp,
                submission.score,
                submission.max_score,
                notebook.late_submission_penalty,
                sorted(
                    (g.name, g.auto_score, g.manual_score, g.extra_credit, g.needs_manual_grade)
                    for g in notebook.grades
                ),
                sorted((c.name, c.auto_comment, c.manual_comment) for c in notebook.comments),
            )
    return rows


def read_written_files(course: Path) -> dict[str, bytes]:
    """The graded notebooks and their companion files, by path."""
    root = course / "autograded"
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}
