"""An instructor's decisions count in every mark, and are read back from term.toml and the gradebook."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook

from autograder.authoring.course_folder import build_course, read_course
from autograder.base.errors import GradlabError
from autograder.classroom.assignment_kinds import open_assignment
from autograder.classroom.decisions import grant_excuse, grant_extension
from autograder.classroom.open_class import grade_lab
from autograder.classroom.preparation import prepare_gradebook
from autograder.classroom.regrading import RegradeResult, RegradeScope, regrade
from autograder.gradebook.class_reader import read_class
from autograder.gradebook.database import open_gradebook
from autograder.gradebook.history import get_history_path, read_history
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.result_reader import read_result
from autograder.model.note_sentences import describe_notes
from autograder.model.term import TERM_FILE, Excuse, ExcusedChecks, Extension, add_excuse, add_extension, read_term
from autograder.reports.student_view import EXCUSED, build_student_view
from autograder.workers.executors import LocalExecutor
from tests.classroom.graded_class import LAB, WRONG, hand_in

ONLY_FLOAT = "def sum_of_squares(x):\n    return (x * x).sum() if x.numel() else None\n"  # fails only `empty`
LATE = """
from nbgrader.plugins import BasePlugin

class OnePoint(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return 1.0
"""


def grade_class(course: Path, executor: LocalExecutor) -> dict[str, bool]:
    """student -> whether the submission had been graded before."""
    outcomes = list(grade_lab(open_course(course), LAB, executor))
    assert not any(each.failure for each in outcomes)
    return {each.student: each.kept for each in outcomes}


@contextmanager
def open_course_gradebook(course: Path) -> Iterator[Gradebook]:
    with open_gradebook(open_course(course).db_url) as gradebook:
        yield gradebook


def read_worth(course: Path, student: str) -> float:
    return read_result(f"sqlite:///{course}/gradebook.db", course, LAB, student).points


@pytest.fixture(scope="module")
def graded_course(built_course: Path, two_graders: LocalExecutor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ada is right, ben fails one check, cy fails all; all are graded once."""
    course = Path(shutil.copytree(built_course, tmp_path_factory.mktemp("term") / "course"))
    hand_in(course, {"ada": None, "ben": ONLY_FLOAT, "cy": WRONG})
    grade_class(course, two_graders)
    return course


@pytest.fixture
def course(graded_course: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(graded_course, tmp_path / "course"))


@pytest.mark.slow
def test_an_excused_check_pays_without_grading_anything_again(course: Path, two_graders: LocalExecutor) -> None:
    """Slow: a class is looked at by a whole grader."""
    assert (read_worth(course, "ada"), read_worth(course, "cy")) == (2, 0)
    assert 0 < read_worth(course, "ben") < 2
    decision = grant_excuse(course, LAB, "empty", "", "the text did not say it")
    assert (decision.exercise, decision.check) == ("sum_of_squares", "empty")
    assert grade_class(course, two_graders) == {"ada": True, "ben": True, "cy": True}
    assert (read_worth(course, "ben"), read_worth(course, "cy")) == (2, 0)
    result = read_result(f"sqlite:///{course}/gradebook.db", course, LAB, "ben")
    (check_view,) = [check for check in build_student_view(result.exercises)["sum_of_squares"] if not check.passed]
    assert check_view.unearned == EXCUSED


@pytest.mark.slow
def test_an_exercise_excused_for_one_student_pays_in_full(course: Path, two_graders: LocalExecutor) -> None:
    """Slow: a class is looked at by a whole grader."""
    grant_excuse(course, LAB, "sum_of_squares", "cy", "was ill")
    grade_class(course, two_graders)
    assert read_worth(course, "cy") == 2
    assert [mark.points for mark in read_history(course, LAB, "cy")] == [0, 2]


def test_an_excuse_names_exactly_one_thing_that_the_lab_has(small_course: Path) -> None:
    with pytest.raises(
        GradlabError,
        match=r"similar names \(to list all: .*'\):\n    sum_of_squares/empty: an empty tensor gives zero$",
    ):
        grant_excuse(small_course, LAB, "emty", "", "")
    with pytest.raises(
        GradlabError, match="no exercise or check 'q9'; its exercises and checks:\n    sum_of_squares\n"
    ):
        grant_excuse(small_course, LAB, "q9", "", "")
    assert grant_excuse(small_course, LAB, "an empty tensor gives zero", "", "").check == "empty"
    assert grant_excuse(small_course, LAB, "sum_of_squares/shapes", "ada", "").check == "shapes"
    assert not (small_course / "nothing").exists() and len(read_term(small_course).excuse) == 2


@pytest.mark.nightly  # by day tests/repository/test_teaching.py walks a term with it
@pytest.mark.slow
def test_an_extension_takes_a_penalty_back(course: Path, two_graders: LocalExecutor) -> None:
    """Slow: a class is looked at by a whole grader, twice."""
    (course / "late_by_one.py").write_text(LATE)
    with (course / "nbgrader_config.py").open("a") as config:
        config.write('c.AssignLatePenalties.plugin_class = "late_by_one.OnePoint"\n')
    for student in ("ada", "ben"):
        (course / "submitted" / student / LAB / "timestamp.txt").write_text("2027-02-02 10:00:00 UTC")
    set_due_date(course)
    grade_class(course, two_graders)
    assert read_worth(course, "ada") == 1
    with open_course_gradebook(course) as gradebook:
        until, note = grant_extension(course, gradebook, LAB, "ada", "2027-02-03 18:00 UTC", "ill")
    assert (str(until), note) == ("2027-02-03 18:00:00", "")
    grade_class(course, two_graders)
    assert read_worth(course, "ada") == 2
    assert read_worth(course, "ben") < 1


def set_due_date(course: Path) -> None:
    with open_course_gradebook(course) as gradebook:
        gradebook.update_or_create_assignment(LAB, duedate="2027-02-01 18:00:00")


@pytest.mark.parametrize(
    ("student", "until", "words"),
    [
        ("eve", "2027-02-03 18:00 UTC", "no student 'eve'"),
        ("ada", "soon", "isn't a time"),
        ("ada", "2027-02-03", r"has no time of day\n    fix: .*'2027-02-03 23:59 UTC'"),
        ("ada", "2020-02-03 18:00 UTC", "not after the due date"),
    ],
)
def test_an_extension_that_makes_no_sense_is_refused(course: Path, student: str, until: str, words: str) -> None:
    set_due_date(course)
    with open_course_gradebook(course) as gradebook, pytest.raises(GradlabError, match=words):
        grant_extension(course, gradebook, LAB, student, until, "")


@pytest.mark.slow
def test_a_mark_by_hand_is_kept_until_the_answer_changes(course: Path, two_graders: LocalExecutor) -> None:
    """Slow: a class is graded three times."""

    def grade() -> Any:
        with open_course_gradebook(course) as gradebook:
            return gradebook.find_grade("check-sum_of_squares", LAB, LAB, "cy")

    with open_course_gradebook(course) as gradebook:
        by_hand = gradebook.find_grade("check-sum_of_squares", LAB, LAB, "cy")
        by_hand.manual_score, by_hand.needs_manual_grade = 1.5, False
        gradebook.db.commit()
    list(grade_lab(open_course(course), LAB, two_graders, include_current=True))
    assert (grade().manual_score, grade().needs_manual_grade) == (1.5, False)
    hand_in(course, {"cy": WRONG + "# another\n"})
    grade_class(course, two_graders)
    assert (grade().manual_score, grade().needs_manual_grade) == (1.5, True)
    list(grade_lab(open_course(course), LAB, two_graders, include_current=True))
    assert grade().needs_manual_grade  # no one has looked yet


@pytest.mark.nightly  # by day tests/repository/test_teaching.py walks a term with it
@pytest.mark.slow
def test_regrading_shows_what_would_change_before_it_writes(course: Path, two_graders: LocalExecutor) -> None:
    """Slow: a class is graded twice more."""
    exercise = course / "labs" / LAB / "exercises" / "sum_of_squares.py"
    text = exercise.read_text()
    start, end = text.index('with check("empty"'), text.index('with check("keeps_input"')
    exercise.write_text((text[:start] + text[end:]).replace(",empty", ""))
    build_course(read_course(course))
    results: list[RegradeResult] = []

    def answer(yes: bool) -> RegradeResult:
        return regrade(open_course(course), LAB, two_graders, lambda result: results.append(result) or yes)

    before = {student: read_worth(course, student) for student in ("ada", "ben", "cy")}
    assert not answer(False).written
    assert {student: read_worth(course, student) for student in before} == before
    assert answer(True).written
    (change,) = results[0].changes
    assert results[0].graded == 3
    assert change.student == "ben"
    assert change.difference == 2 - before["ben"]
    assert results[1].changes == results[0].changes
    assert read_worth(course, "ben") == 2
    assert [mark.command for mark in read_history(course, LAB, "ben")] == ["grade", "regrade"]
    assert set(grade_class(course, two_graders).values()) == {True}


@pytest.mark.slow
def test_regrading_one_exercise_says_that_the_rest_is_of_an_earlier_build(
    course: Path, two_graders: LocalExecutor
) -> None:
    """Slow: a class is graded twice more."""
    exercise = course / "labs" / LAB / "exercises" / "sum_of_squares.py"
    exercise.write_text(exercise.read_text().replace("an empty tensor gives zero", "an empty one gives zero"))
    build_course(read_course(course))

    def older() -> set[bool]:
        return {
            member.from_earlier_build for member in read_class(f"sqlite:///{course}/gradebook.db", course, LAB).members
        }

    assert older() == {True}
    with pytest.raises(GradlabError, match=r"no exercise 'sum_of_square'\n    fix: .*did you mean sum_of_squares\?"):
        regrade(open_course(course), LAB, two_graders, lambda _: True, RegradeScope(exercise="sum_of_square"))
    assert regrade(
        open_course(course), LAB, two_graders, lambda _: True, RegradeScope(exercise="sum_of_squares")
    ).written
    assert older() == {True}
    assert regrade(open_course(course), LAB, two_graders, lambda _: True).written
    assert older() == {False}


@pytest.mark.nightly  # by day tests/repository/test_teaching.py walks a term with it
@pytest.mark.slow
def test_a_team_has_the_newest_submission_of_its_members(course: Path, two_graders: LocalExecutor) -> None:
    """Slow: a class is graded."""
    (course / TERM_FILE).write_text(
        '[[team]]\nname = "blue"\nmembers = ["cy", "dee"]\n\n[[team]]\nname = "red"\nmembers = ["ada", "ben"]\n'
        'labs = ["another"]\n'
    )
    assert grade_class(course, two_graders) == {"ada": True, "ben": True, "cy": True, "dee": False}
    hand_in(course, {"dee": None})
    for student, time in (("cy", "2027-02-01 10:00:00 UTC"), ("dee", "2027-02-01 11:00:00 UTC")):
        (course / "submitted" / student / LAB / "timestamp.txt").write_text(time)
    grade_class(course, two_graders)
    assert {student: read_worth(course, student) for student in ("cy", "dee")} == {"cy": 2, "dee": 2}
    result = read_result(f"sqlite:///{course}/gradebook.db", course, LAB, "cy")
    assert "Submitted by dee, for your team." in describe_notes(result.notes)


@pytest.mark.nightly  # by day tests/repository/test_teaching.py walks a term with it
@pytest.mark.slow
def test_extra_credit_is_added_on_top(course: Path, two_graders: LocalExecutor) -> None:
    """Slow: a class is looked at by a whole grader."""
    (course / TERM_FILE).write_text(f'[labs.{LAB}]\nextra_credit = ["sum_of_squares"]\n')
    grade_class(course, two_graders)
    result = read_result(f"sqlite:///{course}/gradebook.db", course, LAB, "ada")
    assert (result.points, result.worth) == (2, 0)
    assert result.exercises[0].is_extra_credit and result.exercises[0].worth == 2


def test_extra_credit_stays_on_top_after_a_typo_and_after_nbgraders_own_command(small_course: Path) -> None:
    api = open_course(small_course)

    def worth_after(exercise: str) -> float:
        (small_course / TERM_FILE).write_text(f'[labs.{LAB}]\nextra_credit = ["{exercise}"]\n')
        with api.open_gradebook() as gradebook:
            prepare_gradebook(api, open_assignment(small_course, LAB), gradebook, read_term(small_course))
            return float(gradebook.find_assignment(LAB).max_score)

    assert worth_after("sum_of_squares") == 0
    assert worth_after("sum_of_square") == 2, "refused when it's graded"
    assert worth_after("sum_of_squares") == 0
    api.api.generate_assignment(LAB, force=True)
    assert worth_after("sum_of_squares") == 0


@pytest.fixture
def folder_with_decisions(tmp_path: Path) -> Path:
    """A hand-written term.toml, to which each decision was added twice."""
    (tmp_path / TERM_FILE).write_text(f"# ours\n[labs.{LAB}]\npractice = true # only to try\n")
    for day in (1, 2):
        add_extension(tmp_path, Extension(lab=LAB, student="ada", until=f"2027-02-0{day}T18:00:00Z"))
        add_excuse(tmp_path, Excuse(lab=LAB, exercise="f", check="a", reason=str(day)))
    return tmp_path


def test_decisions_keep_hand_written_lines(folder_with_decisions: Path) -> None:
    text = (folder_with_decisions / TERM_FILE).read_text()
    assert "# ours" in text
    assert "# only to try" in text
    assert text.count("\n\n[[") == text.count("[[") == 2
    assert read_term(folder_with_decisions).lab(LAB).practice


def test_decisions_replace_earlier_ones(folder_with_decisions: Path) -> None:
    term = read_term(folder_with_decisions)
    assert [e.until.day for e in term.extension] == [2]
    assert [e.reason for e in term.excuse] == ["2"]
    assert term.get_excuses(LAB, "ben") == {"f": ExcusedChecks(frozenset({"a"}))}


@pytest.mark.parametrize(
    "text, words",
    [
        ("# ours\n[labs", "term.toml:2: this can't be read"),
        ("[[extension]]\nlab = 'a'\n", "term.toml:1: extension.0.student"),
        ("[labs.a]\nattempts = 0\n", "term.toml:2: labs.a.attempts"),
        ("[labs.a]\npractice = true\npractise = true\n", "term.toml:3: labs.a.practise"),
    ],
)
def test_an_invalid_term_file_is_refused_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / TERM_FILE).write_text(text)
    with pytest.raises(GradlabError, match=words):
        read_term(tmp_path)


def test_a_truncated_line_of_the_history_is_the_only_one_lost(course: Path) -> None:
    with get_history_path(course, LAB, "ada").open("a") as file:
        file.write('{"when": "2027')
    assert [mark.points for mark in read_history(course, LAB, "ada")] == [2]


@pytest.mark.slow
@pytest.mark.nightly  # the same test of nbgrader's command as of gradlab's above
def test_nbgraders_own_command_respects_the_decisions(course: Path) -> None:
    """Slow: nbgrader autogrades a submission."""
    grant_excuse(course, LAB, "empty", "", "")
    add_extension(course, Extension(lab=LAB, student="ben", until="2027-02-03T18:00:00Z"))
    (course / "submitted" / "ben" / LAB / "timestamp.txt").write_text("2027-02-02 10:00:00 UTC")
    with open_course_gradebook(course) as gradebook:
        gradebook.update_or_create_assignment(LAB, duedate="2027-02-01 18:00:00")
    assert open_course(course).api.autograde(LAB, "ben", force=True, create=True)["success"]
    with open_course_gradebook(course) as gradebook:
        submission = gradebook.find_submission(LAB, "ben")
        assert (submission.score, submission.total_seconds_late) == (2, 0)
    assert read_history(course, LAB, "ben")[-1].command == "nbgrader autograde"
