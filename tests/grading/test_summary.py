"""What `gradlab grade` says at its end, of a class whose gradebook is written by hand."""

from pathlib import Path

from nbgrader.api import Gradebook

from autograder.grading.summary import summary_of
from autograder.lms.people import Person
from autograder.lms.roster import write_roster
from tests.reports.written_class import LAB, Handed, write_class


def test_who_handed_in_and_is_not_on_the_roster_is_counted_once_there_is_one(small_course: Path) -> None:
    written = write_class(small_course, [Handed("ada"), Handed("ben")])
    with Gradebook(written.url) as gradebook:
        assert "roster" not in summary_of(gradebook, LAB, []).words()
        write_roster(gradebook, [Person(id="ada", last_name="Lovelace"), Person(id="cy", last_name="Young")])
        assert summary_of(gradebook, LAB, []).words() == "0 graded; 1 not handed in; 1 not on the roster (ben)"
