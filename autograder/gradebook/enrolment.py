"""Who is on the roster: told from what a roster brings, since nbgrader keeps no list of it.

`gradlab roster`, and nbgrader's own import, write names, addresses and numbers of the LMS. Grading, in nbgrader too,
adds whoever handed in by the id alone. So who has nothing but an id was never imported, where anybody was.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nbgrader.api import Student
from sqlalchemy import or_, select

BROUGHT = (Student.first_name, Student.last_name, Student.email, Student.lms_user_id)


def list_roster_students(gradebook: Any) -> set[str]:
    """Whom a roster names; nobody where none was imported, or one of ids alone."""
    return set(gradebook.db.scalars(select(Student.id).where(or_(*(column != "" for column in BROUGHT)))))


def find_strangers(gradebook: Any, students: Iterable[str]) -> list[str]:
    """Those of these students whom no roster names; nobody where there is none."""
    named = list_roster_students(gradebook)
    return sorted(set(students) - named) if named else []
