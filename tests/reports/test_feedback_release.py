"""Pages can be released by nbgrader's own command for all submissions; students with an extension are named first."""

from datetime import datetime, timedelta
from pathlib import Path

from nbgrader.utils import notebook_hash

from autograder.base.submission_files import SECRET, TIMESTAMP
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.result_reader import read_results
from autograder.reports.feedback import write_feedback
from autograder.reports.feedback_release import describe_still_working, make_releasable
from tests.reports.written_class import LAB, StudentWork, write_class

NOW = datetime(2027, 2, 1, 12)


def test_a_submission_from_outside_the_exchange_does_not_stop_the_release_of_others(small_course: Path) -> None:
    written_class = write_class(small_course, [StudentWork("ada"), StudentWork("ben")])
    folder = small_course / "autograded" / "ada" / LAB
    (folder / SECRET).write_text("ada's")
    (folder / TIMESTAMP).write_text("2027-02-01 10:00:00 UTC")
    pages = write_feedback(read_results(written_class.url, small_course, LAB), small_course, LAB)
    assert make_releasable(small_course, LAB, pages) == ["ben"]
    made_up = (small_course / "feedback" / "ben" / LAB / SECRET).read_text()
    assert len(made_up) == 64

    exchange = small_course / "exchange"
    exchange.mkdir(mode=0o777)
    with (small_course / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.Exchange.root = {str(exchange)!r}\n")
    released = open_course(small_course).api.release_feedback(LAB)
    assert released["success"], released
    names = {page.stem for page in (exchange / "gradlab" / "feedback").glob("*.html")}
    assert names == {notebook_hash(secret=secret, notebook_id=LAB) for secret in ("ada's", made_up)}

    assert make_releasable(small_course, LAB, pages) == ["ben"]
    assert (small_course / "feedback" / "ben" / LAB / SECRET).read_text() == made_up, "the page keeps its name"


def test_students_who_may_still_hand_in_are_named() -> None:
    extensions = {"ill": NOW + timedelta(days=1), "was_ill": NOW - timedelta(days=1)}
    assert describe_still_working(None, {}, NOW) == "" and describe_still_working(NOW, {}, NOW) == ""
    assert describe_still_working(NOW, extensions, NOW) == "ill until 2027-02-02 12:00 UTC"
    assert describe_still_working(NOW + timedelta(hours=6), extensions, NOW) == "everyone until 2027-02-01 18:00 UTC"
    assert (
        describe_still_working(NOW, extensions, NOW, NOW + timedelta(hours=8)) == "everyone until 2027-02-01 20:00 UTC"
    )
