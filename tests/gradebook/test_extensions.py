"""An extension whose lines in term.toml are deleted is taken back; one that was given in nbgrader stays."""

from datetime import datetime
from pathlib import Path

from nbgrader.api import Gradebook

from autograder.classroom.decisions import grant_extension
from autograder.gradebook.extensions import revoke_extensions
from autograder.model.term import TERM_FILE, read_term
from tests.reports.written_class import LAB, StudentWork, write_class

LATE = datetime(2027, 2, 2, 18)


def test_deleted_lines_take_the_extension_back(small_course: Path) -> None:
    class_ = [StudentWork(student, submitted=LATE) for student in ("ada", "ben", "cleo")]
    written_class = write_class(small_course, class_, "2027-02-01 18:00 UTC", missing=["dan"])

    def late() -> dict[str, float]:
        with Gradebook(written_class.url) as gradebook:
            revoke_extensions(small_course, LAB, gradebook, read_term(small_course).get_extensions(LAB))
        return {member.student: member.seconds_late / 3600 for member in written_class.read().members}

    with Gradebook(written_class.url) as gradebook:
        gradebook.grant_extension(LAB, "ada", days=2)
        for student in ("ben", "dan"):
            grant_extension(small_course, gradebook, LAB, student, "2027-02-02 12:00 UTC", "")
    assert late() == late() == {"ada": 0, "ben": 6, "cleo": 24, "dan": 0}
    (small_course / TERM_FILE).write_text("")
    assert late() == {"ada": 0, "ben": 24, "cleo": 24, "dan": 0}
    assert [member.student for member, _ in written_class.read().extensions] == ["ada"]
