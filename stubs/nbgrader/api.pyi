# What Gradlab uses of nbgrader's gradebook, which has no types of its own.
from collections.abc import Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from sqlalchemy.orm import DeclarativeBase, Mapped, Session

def get_alembic_version() -> str: ...

class InvalidEntry(ValueError): ...
class MissingEntry(ValueError): ...
class Base(DeclarativeBase): ...

class Course(Base):
    id: Mapped[str]
    assignments: Mapped[list[Assignment]]

class Assignment(Base):
    def __init__(self, name: str, duedate: datetime | None = ..., course_id: str = ...) -> None: ...
    id: Mapped[str]
    name: Mapped[str]
    duedate: Mapped[datetime | None]
    course_id: Mapped[str]
    notebooks: Mapped[list[Notebook]]
    submissions: Mapped[list[SubmittedAssignment]]
    max_score: Mapped[float]

class Notebook(Base):
    id: Mapped[str]
    name: Mapped[str]
    assignment: Mapped[Assignment]
    assignment_id: Mapped[str]
    kernelspec: Mapped[str | None]
    source_cells: Mapped[list[SourceCell]]
    submissions: Mapped[list[SubmittedNotebook]]
    @property
    def grade_cells(self) -> list[GradeCell]: ...
    @property
    def solution_cells(self) -> list[SolutionCell]: ...
    @property
    def task_cells(self) -> list[TaskCell]: ...

class BaseCell(Base):
    id: Mapped[str]
    name: Mapped[str]
    notebook: Mapped[Notebook]
    notebook_id: Mapped[str]
    type: Mapped[str]
    grades: Mapped[list[Grade]]
    comments: Mapped[list[Comment]]

class GradeCell(BaseCell):
    max_score: Mapped[float]
    cell_type: Mapped[str]

class SolutionCell(BaseCell): ...

class TaskCell(BaseCell):
    max_score: Mapped[float]
    cell_type: Mapped[str]

class SourceCell(Base):
    id: Mapped[str]
    name: Mapped[str]
    cell_type: Mapped[str]
    locked: Mapped[bool]
    source: Mapped[str]
    checksum: Mapped[str | None]
    notebook: Mapped[Notebook]
    notebook_id: Mapped[str]

class Student(Base):
    id: Mapped[str]
    first_name: Mapped[str | None]
    last_name: Mapped[str | None]
    email: Mapped[str | None]
    lms_user_id: Mapped[str | None]
    submissions: Mapped[list[SubmittedAssignment]]

class SubmittedAssignment(Base):
    id: Mapped[str]
    name: Mapped[str]
    assignment: Mapped[Assignment]
    assignment_id: Mapped[str]
    student: Mapped[Student]
    student_id: Mapped[str]
    timestamp: Mapped[datetime | None]
    extension: Mapped[timedelta | None]
    notebooks: Mapped[list[SubmittedNotebook]]
    score: Mapped[float]
    needs_manual_grade: Mapped[bool]
    late_submission_penalty: Mapped[float]
    @property
    def duedate(self) -> datetime | None: ...
    @property
    def total_seconds_late(self) -> float: ...

class SubmittedNotebook(Base):
    id: Mapped[str]
    name: Mapped[str]
    assignment: Mapped[SubmittedAssignment]
    assignment_id: Mapped[str]
    notebook: Mapped[Notebook]
    notebook_id: Mapped[str]
    grades: Mapped[list[Grade]]
    comments: Mapped[list[Comment]]
    student: Mapped[Student]
    score: Mapped[float]
    needs_manual_grade: Mapped[bool]
    late_submission_penalty: Mapped[float | None]

class Grade(Base):
    def __init__(
        self, *, cell_id: str = ..., notebook_id: str = ..., cell: BaseCell = ..., notebook: SubmittedNotebook = ...
    ) -> None: ...
    id: Mapped[str]
    name: Mapped[str]
    notebook: Mapped[SubmittedNotebook]
    notebook_id: Mapped[str]
    cell: Mapped[BaseCell]
    cell_id: Mapped[str]
    student: Mapped[Student]
    auto_score: Mapped[float | None]
    manual_score: Mapped[float | None]
    extra_credit: Mapped[float | None]
    needs_manual_grade: Mapped[bool]
    score: Mapped[float]
    max_score: Mapped[float]

class Comment(Base):
    def __init__(
        self, *, cell_id: str = ..., notebook_id: str = ..., cell: BaseCell = ..., notebook: SubmittedNotebook = ...
    ) -> None: ...
    id: Mapped[str]
    name: Mapped[str]
    notebook: Mapped[SubmittedNotebook]
    notebook_id: Mapped[str]
    cell: Mapped[BaseCell]
    cell_id: Mapped[str]
    student: Mapped[Student]
    auto_comment: Mapped[str | None]
    manual_comment: Mapped[str | None]
    comment: Mapped[str | None]

class Gradebook:
    db: Session
    def __init__(self, db_url: str, course_id: str = ...) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
    def close(self) -> None: ...
    @property
    def students(self) -> list[Student]: ...
    @property
    def assignments(self) -> list[Assignment]: ...
    def find_student(self, student_id: str) -> Student: ...
    def update_or_create_student(self, student_id: str, **columns: str | None) -> Student: ...
    def find_assignment(self, name: str) -> Assignment: ...
    def find_notebook(self, name: str, assignment: str) -> Notebook: ...
    def find_submission(self, assignment: str, student: str) -> SubmittedAssignment: ...
    def update_or_create_submission(
        self, assignment: str, student: str, *, timestamp: datetime | None = ...
    ) -> SubmittedAssignment: ...
    def assignment_submissions(self, assignment: str) -> Sequence[SubmittedAssignment]: ...
    def find_submission_notebook(self, notebook: str, assignment: str, student: str) -> SubmittedNotebook: ...
    def find_grade(self, grade_cell: str, notebook: str, assignment: str, student: str) -> Grade: ...
    def find_comment(self, solution_cell: str, notebook: str, assignment: str, student: str) -> Comment: ...
