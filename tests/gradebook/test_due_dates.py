"""When labs are due for a student, by the gradebook and term.toml."""

from datetime import UTC, datetime, timedelta

from nbgrader.api import Gradebook

from autograder.gradebook.due_dates import EVERYONE, read_due_dates
from autograder.model.term import Extension, Term

LAB = "01_squares"
DUE = datetime(2027, 2, 1, 18)
DAY = timedelta(days=1)


def extend(student: str, until: datetime, lab: str = LAB) -> Extension:
    return Extension(lab=lab, student=student, until=until.replace(tzinfo=UTC))


def open_memory() -> Gradebook:
    """A gradebook with a lab that is due, and one without a date."""
    gradebook = Gradebook("sqlite://")
    gradebook.add_assignment(LAB, duedate=DUE)
    gradebook.add_assignment("02_cubes")
    return gradebook


def test_an_extension_from_the_gradebook_or_from_the_term_is_the_students_own_date() -> None:
    with open_memory() as gradebook:
        for student in ("ana", "ben"):
            gradebook.add_student(student)
            gradebook.add_submission(LAB, student).extension = DAY
        gradebook.db.commit()
        term = Term(extension=(extend("ben", DUE + 2 * DAY), extend("cleo", DUE + 3 * DAY)))
        dates = read_due_dates(gradebook, term)
    assert dates == {LAB: {EVERYONE: DUE, "ana": DUE + DAY, "ben": DUE + 2 * DAY, "cleo": DUE + 3 * DAY}}


def test_no_extension_makes_a_lab_due_earlier_or_due_at_all() -> None:
    with open_memory() as gradebook:
        term = Term(extension=(extend("ana", DUE - DAY), extend("ana", DUE, lab="02_cubes")))
        assert read_due_dates(gradebook, term) == {LAB: {EVERYONE: DUE, "ana": DUE}}
