"""A class written without grading: rows in a real gradebook, result documents and notebooks, as grading writes them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook, Student

from autograder.base.submission_files import SECRET
from autograder.classroom.assignment_kinds import open_assignment
from autograder.classroom.preparation import prepare_gradebook
from autograder.exchange.inbox import Inbox
from autograder.gradebook.autograded_folder import get_autograded_path
from autograder.gradebook.class_reader import read_class
from autograder.gradebook.class_results import ClassResults
from autograder.gradebook.graded_files import Detail
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.result_documents import write_document
from autograder.gradebook.writer import write_marks
from autograder.model.marks import MarkSheet
from autograder.model.metadata import read_exercise_name
from autograder.model.notes import Note
from autograder.model.result import GradedCell, ResultDocument
from autograder.model.term import read_term
from autograder.model.versions import Versions
from labkit.outcome import Outcome

LAB = "01_squares"
CHECK = "check-sum_of_squares"
EXERCISE = "sum_of_squares"
RIGHT = "def sum_of_squares(x):\n    return (x * x).sum()\n"
WRONG = "def sum_of_squares(x):\n    return x.sum()\n"


@dataclass(frozen=True)
class StudentWork:
    """One student's submission and marks. answer: None leaves the exercise as released."""

    student: str
    answer: str | None = RIGHT
    points: float = 2.0
    checks: Sequence[Outcome] = ()
    notes: tuple[str, ...] = ()
    changed_names: tuple[str, ...] = ()
    submitted: datetime | None = None


@dataclass(frozen=True)
class WrittenClass:
    course: Path
    url: str
    others: Sequence[str] = field(default=())

    def read(self, inbound: Path | None = None, detail: Detail = Detail.CHECKS) -> ClassResults:
        """inbound: of an exchange, if there is one."""
        inbox = Inbox(inbound, inbound, inbound, check_owner=False) if inbound else None
        return read_class(self.url, self.course, LAB, list(inbox.iter_arrivals([LAB])) if inbox else (), detail)


def write_class(
    course: Path, class_: Sequence[StudentWork], due: str = "", missing: Sequence[str] = ()
) -> WrittenClass:
    """missing: students of the gradebook without a submission."""
    api = open_course(course)
    source = nbformat.read(course / "source" / LAB / f"{LAB}.ipynb", as_version=4)
    with api.api.gradebook as gradebook:
        prepare_gradebook(api, open_assignment(course, LAB), gradebook, read_term(course))
        if due:
            gradebook.update_or_create_assignment(LAB, duedate=due)
        gradebook.db.add_all(Student(id=student) for student in missing)
        gradebook.db.commit()
        write_marks(gradebook, LAB, [make_marks(one) for one in class_], lambda *_: None, {})
    for one in class_:
        write_document(course, make_document(one))
        write_notebook(course, one, source)
    return WrittenClass(course, api.db_url)


def make_marks(one: StudentWork) -> MarkSheet:
    return MarkSheet(one.student, {CHECK: one.points}, {f"exercise-{EXERCISE}": one.answer is None}, one.submitted)


def make_document(one: StudentWork) -> ResultDocument:
    cell = GradedCell(id=CHECK, points=one.points, worth=2.0, checks=tuple(one.checks))
    versions = Versions(gradlab="1", python="3", torch="2")
    return ResultDocument(
        lab=LAB,
        student=one.student,
        versions=versions,
        isolation=(),
        notes=tuple(Note(words=words) for words in one.notes),
        changed=one.changed_names,
        cells=(cell,),
    )


def write_notebook(course: Path, one: StudentWork, source: Any) -> None:
    notebook = json.loads(json.dumps(source))
    for cell in notebook["cells"]:
        if read_exercise_name(nbformat.from_dict(cell)):
            cell["source"] = cell["metadata"]["gradlab"]["stub"] if one.answer is None else one.answer
    path = get_autograded_path(course, LAB, one.student)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(notebook))


def mark_by_hand(written_class: WrittenClass, student: str, **values: Any) -> None:
    """Change the gradebook's grade of the exercise, as a person does in the formgrader."""
    with Gradebook(written_class.url) as gradebook:
        grade = gradebook.find_grade(CHECK, LAB, LAB, student)
        for name, value in values.items():
            setattr(grade, name, value)
        gradebook.db.commit()


def put(folder: Path) -> None:
    """Write a complete submission into an exchange."""
    folder.mkdir(parents=True)
    (folder / SECRET).write_text("a secret")


def list_students(members: Mapping[Any, Any] | Sequence[Any]) -> list[str]:
    return [member.student for member in members]
