"""Grades as other systems read them: a row for everybody in the course, a column for each lab.

Canvas: the form of its own gradebook export, which it imports. Moodle: columns that its import maps by address or ID
number. Gradescope: the form of its grades as CSV. csv: all that is known, for a spreadsheet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from autograder.gradebook.class_schema import LabClass, Member
from autograder.lms.people import Person
from autograder.lms.systems import System
from autograder.reports.tables import escape_formula

Table = tuple[list[str], list[list[object]]]  # heading, rows


def build_grade_table(system: System, people: Sequence[Person], labs: Sequence[LabClass]) -> Table:
    """labs: those that count. A student who did not hand in has an empty cell, and in Gradescope's form a status."""
    marks = {lab.lab: {member.student: member for member in lab.members} for lab in labs}
    head, rows = FORMS[system](people, labs, marks)
    return head, [[escape_formula(value) for value in row] for row in rows]


Marks = Mapping[str, Mapping[str, Member]]  # lab -> student -> what is known


def _build_canvas_table(people: Sequence[Person], labs: Sequence[LabClass], marks: Marks) -> Table:
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *(lab.lab for lab in labs)]
    worth: list[object] = ["    Points Possible", "", "", "", "", *(_format_number(lab.worth) for lab in labs)]
    rows: list[list[object]] = [
        [p.sortable_name, p.lms_id, "", p.id, "", *(_format_points(marks[lab.lab].get(p.id)) for lab in labs)]
        for p in people
    ]
    return head, [list(worth), *rows]


def _build_moodle_table(people: Sequence[Person], labs: Sequence[LabClass], marks: Marks) -> Table:
    head = ["First name", "Last name", "ID number", "Email address", *(f"{lab.lab} (Real)" for lab in labs)]
    return head, [
        [p.first_name, p.last_name, p.id, p.email, *(_format_points(marks[lab.lab].get(p.id)) for lab in labs)]
        for p in people
    ]


def _build_gradescope_table(people: Sequence[Person], labs: Sequence[LabClass], marks: Marks) -> Table:
    head = ["First Name", "Last Name", "SID", "Email"]
    for lab in labs:
        head += [lab.lab, f"{lab.lab} - Max Points", f"{lab.lab} - Submission Time", f"{lab.lab} - Lateness (H:M:S)"]
    rows = []
    for p in people:
        row: list[object] = [p.first_name, p.last_name, p.id, p.email]
        for lab in labs:
            member = marks[lab.lab].get(p.id)
            time = f"{member.submitted:%Y-%m-%d %H:%M:%S +0000}" if member and member.submitted else ""
            row += [_format_points(member), _format_number(lab.worth), time, _format_lateness(member)]
        rows.append(row)
    return head, rows


def _build_csv_table(people: Sequence[Person], labs: Sequence[LabClass], marks: Marks) -> Table:
    head = ["id", "first_name", "last_name", "email", "lms_user_id"]
    for lab in labs:
        head += [f"{lab.lab}{words}" for words in ("", " before lateness", " of", " late (H:M:S)", " state")]
    rows = []
    for p in people:
        row: list[object] = [p.id, p.first_name, p.last_name, p.email, p.lms_id]
        for lab in labs:
            member = marks[lab.lab].get(p.id)
            raw = _format_number(sum(m.points or 0 for m in member.marks.values())) if member and member.graded else ""
            row += [
                _format_points(member),
                raw,
                _format_number(lab.worth),
                _format_lateness(member),
                _describe_state(member),
            ]
        rows.append(row)
    return head, rows


FORMS: dict[System, Callable[[Sequence[Person], Sequence[LabClass], Marks], Table]] = {
    System.CANVAS: _build_canvas_table,
    System.MOODLE: _build_moodle_table,
    System.GRADESCOPE: _build_gradescope_table,
    System.CSV: _build_csv_table,
}


def _format_points(member: Member | None) -> str:
    return _format_number(member.points) if member and member.graded else ""


def _format_number(value: float) -> str:
    return f"{round(value, 4):g}"


def _format_lateness(member: Member | None) -> str:
    if member is None or not member.graded:
        return ""
    minutes, seconds = divmod(int(member.late), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def _describe_state(member: Member | None) -> str:
    if member is None or not member.handed_in:
        return "in the exchange" if member and member.uncollected else "missing"
    if not member.graded:
        return "not graded"
    if member.damaged:
        return "damaged"
    return "to be read" if member.waits else "late" if member.late else "graded"
