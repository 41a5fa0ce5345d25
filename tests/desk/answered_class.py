"""A course with a question in words and a graded class, whose gradebook and notebooks are as grading leaves them."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import nbformat

from autograder.authoring.course_folder import build_course, read_course, read_labs
from autograder.classroom.assignment_kinds import open_assignment
from autograder.classroom.preparation import prepare_gradebook
from autograder.demo.students import fill_notebook
from autograder.gradebook.autograded_folder import get_autograded_path
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.result_documents import write_document
from autograder.gradebook.writer import write_marks
from autograder.model.course import CellKind
from autograder.model.marks import MarkSheet
from autograder.model.metadata import read_kind
from autograder.model.result import GradedCell, ResultDocument
from autograder.model.term import Term
from autograder.model.versions import Versions
from labkit.outcome import Outcome
from tests.stock.small_course import RIGHT
from tests.stock.small_course import SOURCE as PLAIN_SOURCE
from tests.stock.stock_course import answer_notebook, write

LAB = "01_squares"
PLAIN = ("ps1", "p1")  # an assignment made for stock nbgrader, and its notebook
QUESTION, CHECK = "question-why", "check-sum_of_squares"
SOURCE = """
# %% [markdown]
# ## Why is it never negative?
# Say it for $x \\in \\mathbb{R}$.
# %% question: why [markdown] points=3
# ### BEGIN SOLUTION
# **Because** a square is at least nought.
# ### END SOLUTION
"""
WRONG = "def sum_of_squares(x):\n    return x.sum()\n"
FAILED = Outcome("values", "3 and 4 give 25", seen="7, `not` 25", hidden=True)
# nbgrader gives an unedited answer no points, and no one has to mark it.
CLASS: Mapping[str, str | None] = {
    "ada": "Because a square is never negative: $x^2 \\ge 0$.",
    "ben": "It is | so.\n\n<script>alert(1)</script> <img src=x onerror=alert(2)>",
    "cleo": "I do not know.",
    "dan": "I do not know.",
    "eve": None,
}


def add_question(course: Path) -> None:
    lab = course / "labs" / LAB / "lab.py"
    lab.write_text(lab.read_text() + SOURCE)
    build_course(read_course(course))


def hand_in(course: Path, class_: Mapping[str, str | None] = CLASS, late: str = "") -> None:
    """student -> the answer to the question. late: a student who submitted a day after the others."""
    api = open_course(course)
    (lab,) = read_labs(read_course(course))
    with api.api.gradebook as gradebook:
        prepare_gradebook(api, open_assignment(course, LAB), gradebook, Term())
        if late:
            gradebook.update_or_create_assignment(LAB, duedate="2027-02-01 18:00 UTC")
        marks = []
        for student, answer in class_.items():
            notebook = fill_notebook(lab, {"sum_of_squares": WRONG})
            cell = next(cell for cell in notebook.cells if read_kind(cell) is CellKind.QUESTION)
            cell.source = cell.source if answer is None else answer
            path = get_autograded_path(course, LAB, student)
            path.parent.mkdir(parents=True)
            nbformat.write(nbformat.from_dict(json.loads(json.dumps(notebook))), path)
            cells = (GradedCell(id=CHECK, points=0.5, worth=2.0, checks=(FAILED,)),)
            versions = Versions(gradlab="", python="", torch="")
            write_document(
                course, ResultDocument(lab=LAB, student=student, versions=versions, isolation=(), cells=cells)
            )
            submitted = datetime(2027, 2, 2 if student == late else 1, 12)
            marks.append(
                MarkSheet(student, {QUESTION: 0.0 if answer is None else None, CHECK: 0.5}, submitted=submitted)
            )
        write_marks(gradebook, LAB, marks, lambda *_: None, {})


def hand_in_stock(course: Path) -> None:
    """One student, whose answers are all right."""
    lab, notebook = PLAIN
    source = PLAIN_SOURCE.replace("YOUR ANSWER HERE", "### BEGIN SOLUTION\\nThe **sign**.\\n### END SOLUTION")
    scheme = "Look at the data.\\n=== BEGIN MARK SCHEME ===\\nOne for *each*.\\n=== END MARK SCHEME ==="
    write(course / f"source/{lab}/{notebook}.ipynb", source.replace("Look at the data.", scheme))
    api = open_course(course)
    with api.api.gradebook as gradebook:
        prepare_gradebook(api, open_assignment(course, lab), gradebook, Term())
        waits = dict.fromkeys(f"{notebook}/{cell}" for cell in ("why", "free", "explore"))
        write_marks(gradebook, lab, [MarkSheet("ada", {**waits, f"{notebook}/scale_values": 2.0})], lambda *_: None, {})
    content = answer_notebook(PLAIN_SOURCE, RIGHT)
    task = '"Look at the data. Say what you see."'
    extra = '{"cell_type": "markdown", "metadata": {}, "source": "It *rises*."}'
    start = content.index("}", content.index(task))
    write(course / f"autograded/ada/{lab}/{notebook}.ipynb", f"{content[: start + 1]}, {extra}{content[start + 1 :]}")
