"""A class is read at once, from the gradebook and from files."""

from datetime import datetime
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.base.errors import GradlabError
from autograder.gradebook.class_reader import read_class
from autograder.gradebook.counting_submissions import find_counting_times
from autograder.gradebook.graded_files import Detail
from autograder.gradebook.history import remember_mark
from autograder.gradebook.result_documents import load_document, write_document
from autograder.gradebook.result_reader import read_results
from autograder.lms.people import Person
from autograder.lms.roster import write_roster
from autograder.model.fingerprint import digest_lab
from autograder.model.term import Excuse, ExcusedChecks, Extension, Term, add_excuse, add_extension
from autograder.reports.status import compute_status
from labkit.outcome import Outcome
from tests.reports.written_class import (
    EXERCISE,
    LAB,
    RIGHT,
    WRONG,
    StudentWork,
    make_document,
    mark_by_hand,
    put,
    write_class,
)

FAILED = Outcome("value", "the value is right", seen="your result is 3")
NOON = datetime(2027, 1, 31, 12)
CLASS = [
    StudentWork("ada", submitted=NOON),
    StudentWork("ben", WRONG, 0.5, [FAILED], submitted=datetime(2027, 2, 1, 12)),
    StudentWork("cleo", None, 0.0, [FAILED]),
]


def test_marks_are_those_that_feedback_shows(small_course: Path) -> None:
    written_class = write_class(small_course, CLASS)
    mark_by_hand(written_class, "ben", manual_score=1.5, extra_credit=0.25)
    class_results = written_class.read()
    points = {result.student: result.points for result in read_results(written_class.url, small_course, LAB)}
    assert (
        {member.student: member.points for member in class_results.members}
        == points
        == {"ada": 2, "ben": 1.75, "cleo": 0}
    )
    assert (class_results.worth, [column.name for column in class_results.columns]) == (2, [EXERCISE])


def test_a_students_text_is_distinguished_from_the_released_text(small_course: Path) -> None:
    ada, ben, cleo = write_class(small_course, CLASS).read().members
    assert (ada.answers, ben.answers, cleo.answers) == ({EXERCISE: RIGHT}, {EXERCISE: WRONG}, {})


def test_missing_late_and_ungraded_students_are_known(small_course: Path) -> None:
    folder = small_course / "submitted"
    for student in ("ada", "dan"):
        (folder / student / LAB).mkdir(parents=True)
        (folder / student / LAB / "timestamp.txt").write_text("2027-02-03 10:00:00.0 UTC")
    ada, ben, _, dan, eve = write_class(small_course, CLASS, "2027-01-31 18:00 UTC", missing=["eve"]).read().members
    assert (ada.seconds_late, ada.needs_regrading) == (0, True)
    assert (ben.seconds_late, ben.needs_regrading) == (18 * 3600, False)
    assert (dan.has_submitted, dan.graded) == (True, False)
    assert (eve.has_submitted, eve.graded) == (False, False)


def test_an_extension_counts_once_written_even_before_a_submission(small_course: Path) -> None:
    written_class = write_class(small_course, CLASS, "2027-01-31 18:00 UTC", missing=["eve"])
    assert not written_class.read().extensions
    for student, until in (("ben", "2027-02-01T06:00Z"), ("eve", "2027-02-03T18:00Z"), ("ada", "2027-01-01T00:00Z")):
        add_extension(small_course, Extension(lab=LAB, student=student, until=until))
    class_results = written_class.read()
    ada, ben, *_ = class_results.members
    assert (ben.extension_end, ben.seconds_late) == (datetime(2027, 2, 1, 6), 6 * 3600)
    assert ada.seconds_late == 0, "an extension that ends before the due date takes no time away"
    assert [(member.student, until.day) for member, until in class_results.extensions] == [
        ("eve", 3),
        ("ben", 1),
        ("ada", 1),
    ]


def test_an_extension_given_in_nbgrader_counts(small_course: Path) -> None:
    written_class = write_class(small_course, CLASS, "2027-01-31 18:00 UTC")
    with Gradebook(written_class.url) as gradebook:
        gradebook.grant_extension(LAB, "ben", days=1)
    _, ben, _ = written_class.read().members
    assert (ben.extension_end, ben.seconds_late) == (datetime(2027, 2, 1, 18), 0)


def test_a_mark_that_waits_counts_the_points_that_it_has(small_course: Path) -> None:
    written_class = write_class(small_course, CLASS)
    mark_by_hand(written_class, "ada", auto_score=None, needs_manual_grade=True)
    mark_by_hand(written_class, "ben", manual_score=1.0, needs_manual_grade=True)
    ada, ben, _ = written_class.read().members
    assert (ada.marks[EXERCISE].points, ada.needs_manual_grade, ada.points) == (None, True, 0)
    assert (ben.marks[EXERCISE].points, ben.needs_manual_grade, ben.points) == (1.0, True, 1)


def test_an_excused_check_counts_as_passed(small_course: Path) -> None:
    written_class = write_class(small_course, CLASS)
    add_excuse(small_course, Excuse(lab=LAB, exercise=EXERCISE, check="value", student="ben"))
    _, ben, cleo = written_class.read().members
    assert ben.checks[EXERCISE][0].passed and not cleo.checks[EXERCISE][0].passed


@pytest.mark.parametrize("detail", Detail)
def test_an_excuse_waits_for_the_grading_that_writes_it(detail: Detail, small_course: Path) -> None:
    written_class = write_class(small_course, CLASS)
    add_excuse(small_course, Excuse(lab=LAB, exercise=EXERCISE, check="value", student="ben"))
    assert [member.needs_regrading for member in written_class.read(detail=detail).members] == [False, True, False]
    mark_by_hand(written_class, "ben", auto_score=2.0)
    assert not any(member.needs_regrading for member in written_class.read(detail=detail).members)


@pytest.mark.parametrize("detail", Detail)
def test_an_excuse_that_is_taken_back_waits_too(detail: Detail, small_course: Path) -> None:
    written_class = write_class(small_course, CLASS)
    excused = {EXERCISE: ExcusedChecks(frozenset({"value"}))}
    for one in CLASS:
        remember_mark(
            small_course, make_document(one), one.points, None, "grade", excused if one.student == "ben" else {}
        )
    assert not any(member.needs_regrading for member in written_class.read(detail=detail).members), "no points changed"
    mark_by_hand(written_class, "ben", auto_score=2.0)
    assert [member.needs_regrading for member in written_class.read(detail=detail).members] == [False, True, False]


@pytest.mark.parametrize("detail", Detail)
def test_a_mark_of_an_earlier_build_of_the_lab_is_reported(detail: Detail, small_course: Path) -> None:
    written_class = write_class(small_course, CLASS)
    ada, ben = (load_document(small_course, LAB, student) for student in ("ada", "ben"))
    source = small_course / "source" / LAB / f"{LAB}.ipynb"
    write_document(small_course, ada.model_copy(update={"made_of": {"the lab": digest_lab(source.read_bytes())}}))
    write_document(small_course, ben.model_copy(update={"made_of": {"the lab": digest_lab(b"an earlier one")}}))
    assert [member.from_earlier_build for member in written_class.read(detail=detail).members] == [False, True, False]
    (step,) = (
        step for step in compute_status(written_class.read(detail=detail)).list_next_steps() if "regrade" in step
    )
    assert step == f"gradlab regrade {LAB}: 1 marked by an earlier build; it shows what would change"


def test_the_quick_reader_finds_the_same_marks_and_notes(small_course: Path) -> None:
    written_class = write_class(small_course, [StudentWork("ada", notes=("Something was put right.",))])
    full, quick = written_class.read().members[0], written_class.read(detail=Detail.MARKS).members[0]
    assert (quick.points, quick.messages) == (full.points, full.messages) == (2, ["Something was put right."])
    assert not quick.checks


def test_attempts_are_the_folders_of_the_exchange_that_count(small_course: Path) -> None:
    inbound = small_course / "inbound"
    for name in ("ada+01_squares+2026-01-02 10:00:00.5 UTC+abc", "ada+01_squares+2026-01-01 10:00:00.0 UTC"):
        put(inbound / name)
    put(inbound / "ada+01_squares+9999-01-01 10:00:00.0 UTC")
    (inbound / "ada+01_squares+2026-01-03 10:00:00.0 UTC").mkdir()  # without a secret
    put(inbound / "ada+01_squares2+2026-01-01 10:00:00.0 UTC")
    (ada, *_) = write_class(small_course, CLASS).read(inbound).members
    assert ada.attempts == (datetime(2026, 1, 1, 10), datetime(2026, 1, 2, 10, 0, 0, 500000))


def test_a_student_missing_from_the_roster_is_only_in_labs_they_submitted(small_course: Path) -> None:
    written_class = write_class(small_course, CLASS, missing=["a_typo", "waits"])
    with Gradebook(written_class.url) as gradebook:
        write_roster(gradebook, [Person(id="ada", last_name="Lovelace"), Person(id="dee", last_name="Young")])
    put(small_course / "inbound" / "waits+01_squares+2026-01-01 10:00:00.0 UTC")
    members = written_class.read(small_course / "inbound").members
    assert {m.student: (m.on_roster, m.has_submitted) for m in members} == {
        "ada": (True, True),
        "ben": (False, True),
        "cleo": (False, True),
        "dee": (True, False),
        "waits": (False, False),
    }


def test_a_teams_newest_submission_settles_those_of_its_members(small_course: Path) -> None:
    written_class = write_class(small_course, [StudentWork("ada", submitted=datetime(2026, 2, 1, 12))])
    for student, hour in (("ada", 10), ("cy", 12)):
        folder = small_course / "submitted" / student / LAB
        folder.mkdir(parents=True)
        (folder / "timestamp.txt").write_text(f"2026-02-01 {hour}:00:00 UTC")
    put(small_course / "inbound" / f"ada+{LAB}+2026-02-01 11:00:00 UTC")
    (ada, *_) = written_class.read(small_course / "inbound").members
    assert ada.needs_regrading and ada.uncollected
    (small_course / "term.toml").write_text('[[team]]\nname = "blue"\nmembers = ["ada", "cy"]\n')
    (ada, *_) = written_class.read(small_course / "inbound").members
    assert (ada.needs_regrading, ada.uncollected, ada.team) == (False, False, "blue")


def test_an_invalid_timestamp_is_ignored(tmp_path: Path) -> None:
    folder = tmp_path / "submitted" / "ada" / "x"
    folder.mkdir(parents=True)
    (folder / "timestamp.txt").write_text("yesterday, or so")
    assert find_counting_times(tmp_path, "x", Term()) == {"ada": None}


def test_a_problem_is_reported_with_a_fix(small_course: Path) -> None:
    written_class = write_class(small_course, CLASS)
    with pytest.raises(GradlabError, match="no lab '02_none' in "):
        read_class(written_class.url, small_course, "02_none")
    (small_course / "results" / LAB / "ada.json").write_text("{")
    with pytest.raises(GradlabError, match="grade this submission again"):
        written_class.read()
    with pytest.raises(GradlabError, match="grade this submission again"):
        written_class.read(detail=Detail.MARKS)


@pytest.mark.parametrize("time", ["2027-02-03 10:00:00 /proc/kmsg", "2027-02-03 10:00:00 ../../x", "x" * 1000])
def test_a_time_that_a_student_made_up_opens_no_file_and_is_ignored(time: str, tmp_path: Path) -> None:
    folder = tmp_path / "submitted" / "ada" / LAB
    folder.mkdir(parents=True)
    (folder / "timestamp.txt").write_text(time)
    assert find_counting_times(tmp_path, LAB, Term()) == {"ada": None}
    (folder / "timestamp.txt").unlink()
    (folder / "timestamp.txt").symlink_to("/dev/zero")
    assert find_counting_times(tmp_path, LAB, Term()) == {"ada": None}
