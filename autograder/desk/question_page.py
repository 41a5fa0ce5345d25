"""What a person reads: all questions with their counts, or one question with its model answer and all answers.

Marks and comments are in nbgrader's gradebook, so the formgrader shows the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from nbgrader.api import Assignment, Grade, Gradebook, Student
from sqlalchemy import case, func, select

from autograder.base.digest import digest
from autograder.classroom.answer_cells import AnswerCells
from autograder.classroom.assignment_kinds import open_assignment
from autograder.desk.course_desk import Desk, list_addresses
from autograder.desk.mark_log import GivenMark, read_given_marks
from autograder.desk.marks import DeskMark, read_marks, read_rubric
from autograder.desk.question_text import render_question_and_solution
from autograder.desk.rubric import Rubric
from autograder.gradebook.cell_address import CellAddress
from autograder.gradebook.labels import make_sort_key
from autograder.gradebook.notebook_file import read_lab_title
from autograder.gradebook.result_documents import load_document
from autograder.intake.cell_origin import digest_answer
from autograder.rendering.prose import limit_page
from autograder.reports.student_cells import ShownCell, render_answer
from labkit.outcome import Outcome

MAX_COMMENTS = 30
MAX_CELLS = 30  # of one answer


@dataclass(frozen=True)
class QuestionSummary:
    """A graded cell with its numbers of answers."""

    address: CellAddress
    name: str
    answers: int
    waiting: int
    """Answers that a person has yet to read."""
    read: int
    """Answers that a person has marked."""


@dataclass(frozen=True)
class ShownAnswer:
    """One student's answer."""

    student: str
    name: str
    cells: Sequence[ShownCell]
    checks: Sequence[Outcome]
    mark: DeskMark
    sort_key: str
    """A sort key that reveals nothing about the student."""
    content_digest: str
    """A digest of everything that's shown, equal for equal answers."""


@dataclass(frozen=True)
class QuestionPage:
    """A question with all of its answers."""

    address: CellAddress
    name: str
    title: str
    """The lab's."""
    question: Markup
    """What the question asks."""
    solution: Markup
    """The worked solution."""
    answers: Sequence[ShownAnswer]
    rubric: Rubric
    given: Mapping[str, GivenMark]
    """The last mark that each student was given on the desk."""
    comments: Sequence[str]
    """Comments on this question, the most frequent first."""


def list_questions(desk: Desk, gradebook: Gradebook) -> tuple[dict[str, list[QuestionSummary]], dict[str, str]]:
    """Return the graded cells that students have submitted, and the labs' titles, both by lab."""
    waits = func.sum(case((Grade.needs_manual_grade, 1), else_=0))
    read = func.sum(case((Grade.manual_score.is_not(None) & ~Grade.needs_manual_grade, 1), else_=0))
    rows = gradebook.db.execute(select(Grade.cell_id, func.count(), waits, read).group_by(Grade.cell_id))
    numbers = {cell: counts for cell, *counts in rows}
    by_lab = {}
    for lab in gradebook.db.scalars(select(Assignment.name).order_by(Assignment.name)).all():
        answer_cells = open_assignment(desk.course, lab).answers
        by_lab[lab] = [
            QuestionSummary(address, answer_cells.label(address), *numbers[address.cell_id])
            for address in list_addresses(desk, gradebook, lab)
            if address.cell_id in numbers
        ]
    submitted = {lab: questions for lab, questions in by_lab.items() if questions}
    return submitted, {lab: read_lab_title(desk.course, lab) for lab in submitted}


def build_page(desk: Desk, gradebook: Gradebook, address: CellAddress) -> QuestionPage:
    """Build a question's page: answers in the order of students, and the comments written most often."""
    rubric = read_rubric(desk, address)
    marks = read_marks(gradebook, address, rubric)
    answer_cells = open_assignment(desk.course, address.lab).answers
    names = {
        row.id: " ".join(filter(None, (row.first_name, row.last_name)))
        for row in _list_students(gradebook, address.lab)
    }
    answers = [
        _build_answer(desk, address, answer_cells, student, names[student], marks[student])
        for student in sorted(marks, key=make_sort_key)
    ]
    counts = Counter(mark.comment for mark in marks.values() if mark.comment)
    comments = [text for text, _ in counts.most_common(MAX_COMMENTS)]
    source, answer_name = desk.read_source(address.lab, address.notebook), answer_cells.get_source_name(address)
    question, solution = render_question_and_solution(source, address, answer_name, desk.config)
    title = read_lab_title(desk.course, address.lab)
    given = read_given_marks(desk.course, address.lab, address.key)
    name = answer_cells.label(address)
    return QuestionPage(address, name, title, question, solution, answers, rubric, given, comments)


def _list_students(gradebook: Gradebook, lab: str) -> Sequence[Any]:
    submitted = Student.submissions.any(assignment_id=gradebook.find_assignment(lab).id)
    students: Sequence[Any] = gradebook.db.scalars(select(Student).where(submitted)).all()
    return students


def _build_answer(
    desk: Desk, address: CellAddress, answer_cells: AnswerCells, student: str, name: str, mark: DeskMark
) -> ShownAnswer:
    cells = answer_cells.select(desk.read_autograded(address.lab, student, address.notebook), address)
    shown = _render_cells(cells[:MAX_CELLS])
    texts = [f"{cell.source}\n{cell.words}\n{cell.text}\n{cell.pictures}" for cell in shown]
    return ShownAnswer(
        student,
        name,
        shown,
        () if address.by_hand else _read_checks(desk, address, student, answer_cells.get_result_id(address)),
        mark,
        sort_key=digest(address.key, student)[:16],
        content_digest=digest(digest_answer(cells), *texts)[:16],
    )


def _render_cells(cells: Sequence[Any]) -> list[ShownCell]:
    with limit_page():  # a budget for each answer, so none uses up the others' time
        return render_answer(cells)


def _read_checks(desk: Desk, address: CellAddress, student: str, cell_id: str) -> Sequence[Outcome]:
    """Read what the checks of an exercise saw, including hidden ones, since the page is for instructors."""
    result = load_document(desk.course, address.lab, student)
    return next((cell.checks for cell in result.cells if cell.id == cell_id), ()) if result else ()
