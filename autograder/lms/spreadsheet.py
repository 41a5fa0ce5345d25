"""No LMS: everything known about all marks, for a spreadsheet, and feedback pages in folders by student."""

from __future__ import annotations

from autograder.gradebook.class_results import ClassResults, Member
from autograder.lms.grades import (
    Exporter,
    GradeTableFormat,
    format_lateness,
    format_number,
    format_points,
    format_worth,
)
from autograder.lms.learning_system import LearningSystem


def _format_raw_points(lab: ClassResults, member: Member | None) -> str:
    return format_number(sum(mark.points or 0 for mark in member.marks.values())) if member and member.graded else ""


def _describe_state(lab: ClassResults, member: Member | None) -> str:
    if member is None or not member.has_submitted:
        return "in the exchange" if member and member.uncollected else "missing"
    if not member.graded:
        return "not graded"
    if member.unreadable:
        return "damaged"
    return "to be read" if member.needs_manual_grade else "late" if member.seconds_late else "graded"


GRADES = GradeTableFormat(
    {"id": "id", "first_name": "first_name", "last_name": "last_name", "email": "email", "lms_user_id": "lms_id"},
    {
        "": format_points,
        " before lateness": _format_raw_points,
        " of": format_worth,
        " late (H:M:S)": format_lateness,
        " state": _describe_state,
    },
)
SPREADSHEET = LearningSystem("CSV", Exporter("marks.csv", GRADES.write))
