"""Works out who is on the roster, of which nbgrader keeps no list.

`gradlab roster`, and nbgrader's own import, write names, addresses and the LMS's numbers. Grading, in nbgrader too,
adds students who hand in with only an id. So if anyone was imported, students with only an id weren't.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nbgrader.api import Student
from sqlalchemy import or_, select

BROUGHT = (Student.first_name, Student.last_name, Student.email, Student.lms_user_id)


def list_roster_students(gradebook: Any) -> set[str]:
    """The students whom a roster names; empty if no roster was imported, or one with only ids."""
    return set(gradebook.db.scalars(select(Student.id).where(or_(*(column != "" for column in BROUGHT)))))


def find_strangers(gradebook: Any, students: Iterable[str]) -> list[str]:
    """Those of these students whom the roster doesn't name; empty if there is no roster."""
    named = list_roster_students(gradebook)
    return sorted(set(students) - named) if named else []
