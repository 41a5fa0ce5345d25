"""Works out who is on the roster, since nbgrader keeps no such list.

`gradlab roster` and nbgrader's own import write names, addresses and LMS ids. Grading, in nbgrader too, adds students
who submit with only an id. So if anyone was imported, students who have only an id weren't.
"""

from __future__ import annotations

from collections.abc import Iterable

from nbgrader.api import Gradebook, Student
from sqlalchemy import or_, select

IMPORTED = (Student.first_name, Student.last_name, Student.email, Student.lms_user_id)


def list_roster_students(gradebook: Gradebook) -> set[str]:
    """List the students on the roster; none if no roster was imported, or one with only ids."""
    return set(gradebook.db.scalars(select(Student.id).where(or_(*(column != "" for column in IMPORTED)))))


def find_unenrolled(gradebook: Gradebook, students: Iterable[str]) -> list[str]:
    """Return which of these students aren't on the roster; none if there is no roster."""
    roster = list_roster_students(gradebook)
    return sorted(set(students) - roster) if roster else []
