"""Reads a whole class at once: rows of the gradebook in a few queries, and each file once and without nbformat.

A class of a thousand takes seconds. result_reader.py adds what a feedback page shows of single submissions.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from nbgrader.api import Assignment, Gradebook, Student
from sqlalchemy import select

from autograder.base.timestamps import get_utc_now
from autograder.gradebook.class_results import ClassResults, Column, Member
from autograder.gradebook.counting_submissions import find_counting_times
from autograder.gradebook.database import open_gradebook
from autograder.gradebook.enrolment import find_unenrolled
from autograder.gradebook.excuses import set_passed
from autograder.gradebook.graded_files import Detail, GradedFiles, read_graded_files
from autograder.gradebook.history import HistoryEntry, read_history
from autograder.gradebook.lab_columns import read_columns, read_labels
from autograder.gradebook.labels import CellLabels, make_sort_key
from autograder.gradebook.notebook_file import read_lab_title
from autograder.gradebook.result_documents import load_document
from autograder.gradebook.student_answers import LabSource, read_lab_source
from autograder.gradebook.submission_rows import (
    SubmissionRow,
    compute_seconds_late,
    read_submission_rows,
    refuse_ungraded_lab,
)
from autograder.model.arrivals import Arrival, find_uncollected, group_times_by_student
from autograder.model.fingerprint import LAB
from autograder.model.marks import Mark
from autograder.model.term import Term, read_term


@dataclass(frozen=True)
class _ClassRecords:
    """What is known of a lab before its members' files are read. Mappings are by student."""

    course: Path
    lab: str
    term: Term
    source: LabSource
    labels: CellLabels
    columns: tuple[Column, ...]
    due: datetime | None
    rows: Mapping[str, SubmissionRow]
    names: Mapping[str, str]
    """Everyone in the gradebook."""
    submitted: Mapping[str, datetime | None]
    """When the submission in submitted/ that counts was submitted."""
    attempts: Mapping[str, list[datetime]]
    """When those in the exchange were submitted."""
    unenrolled: set[str]
    """Students who aren't on the roster."""
    histories: Mapping[str, tuple[HistoryEntry, ...]]
    unwritten: set[str]
    """Students whose points don't reflect their excuses yet."""

    @functools.cached_property
    def submitters(self) -> set[str]:
        return {*self.rows, *self.submitted}

    @functools.cached_property
    def students_to_collect(self) -> set[str]:
        return find_uncollected(self.attempts, self.submitted)

    @functools.cached_property
    def extensions(self) -> Mapping[str, datetime]:
        """When extensions in term.toml end; the next grading writes them to the gradebook."""
        return self.term.get_extensions(self.lab)

    @functools.cached_property
    def worth(self) -> Mapping[str, float]:
        """What each column is worth, by name."""
        return {column.name: column.worth for column in self.columns}

    def list_students(self) -> list[str]:
        """List everyone, without those who aren't on the roster and submitted nothing."""
        everyone = {*self.names, *self.submitted, *self.attempts}
        return sorted(everyone - (self.unenrolled - self.submitters - self.students_to_collect), key=make_sort_key)


def read_class(
    db_url: str, course: Path, lab: str, arrivals: Sequence[Arrival] = (), detail: Detail = Detail.CHECKS
) -> ClassResults:
    """Read everyone's results in this lab. Students who aren't on the roster are included if they submitted it.

    Args:
        arrivals: What is in the exchange, for any lab.
        detail: How much to read of each submission.

    Raises:
        GradlabError: If the gradebook doesn't know the lab.
    """
    with open_gradebook(db_url) as gradebook:
        refuse_ungraded_lab(gradebook, course, lab)
        records = _read_records(gradebook, course, lab, arrivals)
    members = tuple(_build_member(records, student, detail) for student in records.list_students())
    source = records.source
    title = read_lab_title(course, lab)
    return ClassResults(lab, records.columns, members, records.due, source.stubs, source.solutions, title)


def list_labs(db_url: str) -> list[str]:
    """List the labs that the gradebook knows, sorted by name."""
    with open_gradebook(db_url) as gradebook:
        return sorted((str(name) for (name,) in gradebook.db.execute(select(Assignment.name))), key=make_sort_key)


def _read_records(gradebook: Gradebook, course: Path, lab: str, arrivals: Sequence[Arrival]) -> _ClassRecords:
    """Read what the gradebook, term.toml, submitted/ and the histories say about the whole class."""
    term, source = read_term(course), read_lab_source(course, lab)
    labels = read_labels(gradebook, course, lab)
    rows, names = read_submission_rows(gradebook, lab), _read_names(gradebook)
    submitted, attempts = find_counting_times(course, lab, term), group_times_by_student(arrivals, lab, get_utc_now())
    histories = {student: tuple(read_history(course, lab, student)) for student in rows}
    return _ClassRecords(
        course=course,
        lab=lab,
        term=term,
        source=source,
        labels=labels,
        columns=read_columns(gradebook, lab, labels, source.cells, term.lab(lab).extra_credit),
        due=gradebook.find_assignment(lab).duedate,
        rows=rows,
        names=names,
        submitted=submitted,
        attempts=attempts,
        unenrolled=set(find_unenrolled(gradebook, {*names, *submitted, *attempts})),
        histories=histories,
        unwritten=_find_unwritten_excuses(course, lab, term, rows, histories),
    )


def _read_names(gradebook: Gradebook) -> dict[str, str]:
    """Read the names of everyone in the gradebook, by id."""
    rows = gradebook.db.execute(select(Student.id, Student.first_name, Student.last_name))
    return {student: " ".join(part for part in (first, last) if part) for student, first, last in rows}


def _build_member(records: _ClassRecords, student: str, detail: Detail) -> Member:
    """Build what the report says about a student."""
    team = records.term.find_team(records.lab, student)
    member = Member(
        student,
        name=records.names.get(student, ""),
        on_roster=student not in records.unenrolled,
        team=team.name if team else "",
        has_submitted=student in records.submitters,
        uncollected=student in records.students_to_collect,
        attempts=tuple(records.attempts.get(student, ())),
        extension_end=records.extensions.get(student),
    )
    row = records.rows.get(student)
    if row is None:
        return member
    return _add_grading(member, records, row, read_graded_files(records.course, records.lab, student, detail))


def _add_grading(member: Member, records: _ClassRecords, row: SubmissionRow, files: GradedFiles) -> Member:
    """Add the marks and what the files say, with labels of cells, and excused checks as passed."""
    student, due, extension_end = member.student, records.due, records.extensions.get(member.student)
    newest, digest = records.submitted.get(student), records.source.digest
    marks, excused = _build_marks(records, row), records.term.get_excuses(records.lab, student)
    return replace(
        member,
        graded=True,
        needs_regrading=student in records.unwritten or (newest is not None and newest != row.submitted),
        from_earlier_build=bool(digest) and files.made_of.get(LAB, digest) != digest,
        marks=marks,
        penalty=round(row.penalty, 4),
        submitted=row.submitted,
        extension_end=extension_end or row.extension_end,
        seconds_late=compute_seconds_late(row.submitted, max(extension_end, due))
        if extension_end and due
        else row.seconds_late,
        unreadable=files.unreadable,
        notes=files.notes,
        remarks=files.remarks,
        notebooks=files.notebooks,
        stopped_cells={cell: records.labels.label_id(cell) for cell in files.stopped_cells},
        changed_names=files.changed_names,
        checks={
            name: tuple(set_passed(outcomes, excused[name])) if name in excused else outcomes
            for name, outcomes in files.checks.items()
        },
        # if the builder didn't make the lab, what was handed out isn't known
        answers=files.written if records.source.stubs else dict.fromkeys(marks, ""),
        page=files.page,
        history=records.histories[student],
        own_process_cells=files.own_process_cells,
    )


def _build_marks(records: _ClassRecords, row: SubmissionRow) -> dict[str, Mark]:
    marks = {}
    for cell in row.cells:
        name = records.labels.label(cell.notebook, cell.name)
        points = None if cell.points is None else round(cell.points, 4)
        marks[name] = Mark(points, records.worth.get(name, 0.0), cell.needs_manual_grade)
    return marks


def _find_unwritten_excuses(
    course: Path,
    lab: str,
    term: Term,
    rows: Mapping[str, SubmissionRow],
    histories: Mapping[str, Sequence[HistoryEntry]],
) -> set[str]:
    """Return students whose points in the gradebook don't reflect the excuses that term.toml has now.

    Args:
        rows: What the gradebook has, by student.
        histories: The history of everyone with a mark. If the last mark has the same excuses, no file is read.
    """
    unwritten = set()
    for student, history in histories.items():
        excused = term.get_excuses(lab, student)
        if history[-1].has_excuses(excused) if history else not excused:
            continue
        result = load_document(course, lab, student)
        if result and not rows[student].has_points_of(result, excused):
            unwritten.add(student)
    return unwritten
