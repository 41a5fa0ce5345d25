"""The summary that ends `gradlab grade`, for a class whose gradebook is written by hand."""

from pathlib import Path

from nbgrader.api import Gradebook

from autograder.classroom.summary import Summary, read_totals, summarize_lab
from autograder.lms.people import Person
from autograder.lms.roster import write_roster
from tests.reports.written_class import LAB, StudentWork, mark_by_hand, write_class


def test_submitters_missing_from_the_roster_are_counted_once_there_is_a_roster(small_course: Path) -> None:
    written_class = write_class(small_course, [StudentWork("ada"), StudentWork("ben")])
    with Gradebook(written_class.url) as gradebook:
        assert "roster" not in summarize_lab(gradebook, LAB, []).describe()
        write_roster(gradebook, [Person(id="ada", last_name="Lovelace"), Person(id="cy", last_name="Young")])
        assert summarize_lab(gradebook, LAB, []).describe() == "0 graded; 1 not submitted; 1 not on the roster (ben)"


def test_changed_marks_are_counted(small_course: Path) -> None:
    written_class = write_class(
        small_course, [StudentWork(student, points=1.0) for student in ("ada", "ben", "cy", "dan")]
    )
    mark_by_hand(written_class, "dan", manual_score=0.5)
    with Gradebook(written_class.url) as gradebook:
        before = read_totals(gradebook, LAB)
    assert before == {"ada": 1, "ben": 1, "cy": 1, "dan": 0.5}
    mark_by_hand(written_class, "ada", auto_score=2.0)
    mark_by_hand(written_class, "ben", auto_score=0.0)
    mark_by_hand(written_class, "dan", auto_score=2.0)
    with Gradebook(written_class.url) as gradebook:
        (cy,) = gradebook.find_submission(LAB, "cy").notebooks
        cy.late_submission_penalty = 0.25
        gradebook.db.commit()
        assert "3 marks changed, 1 up and 2 down" in summarize_lab(gradebook, LAB, [], before=before).describe()
        assert Summary(1, 0, 0, 0, 0, 0, 0, 0, up=1).describe() == "1 graded; 1 mark changed, 1 up and 0 down"
        assert "changed" not in summarize_lab(gradebook, LAB, [], before=read_totals(gradebook, LAB)).describe()
