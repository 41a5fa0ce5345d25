"""`gradlab grade` writes what `nbgrader autograde` writes, to the byte."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.classroom.grading_outcome import GradingOutcome
from autograder.classroom.open_class import grade_lab
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.result_documents import load_document
from autograder.workers.executors import LocalExecutor
from tests.classroom.graded_class import LAB, WRONG, hand_in, read_gradebook_rows, read_written_files
from tests.classroom.late_class import make_class, open_class
from tests.conftest import NIGHTLY

BY_DAY = ["broken", "greedy", "late", "wrong"]
STUDENTS = sorted([*BY_DAY, "prints", "right"]) if NIGHTLY else BY_DAY


@dataclass(frozen=True)
class GradedTwice:
    by_nbgrader: Path
    by_gradlab: Path
    outcomes: list[GradingOutcome]
    """Of Gradlab's grading."""


@pytest.fixture(scope="module")
def graded_twice(
    built_course: Path, two_graders: LocalExecutor, tmp_path_factory: pytest.TempPathFactory
) -> GradedTwice:
    """A class whose submissions differ, graded by both. nbgrader takes long for each student."""
    folder = tmp_path_factory.mktemp("twice")
    course, other = Path(shutil.copytree(built_course, folder / "course")), folder / "other"
    make_class(course)
    for submitted in (course / "submitted").iterdir():
        if submitted.name not in STUDENTS:
            shutil.rmtree(submitted)
    shutil.copytree(course, other)
    api = open_class(course)
    for submitted in sorted((course / "submitted").iterdir()):
        assert api.api.autograde(LAB, submitted.name, force=True, create=True)["success"]
    return GradedTwice(course, other, list(grade_lab(open_class(other), LAB, two_graders)))


@pytest.mark.slow
def test_every_submission_is_graded(graded_twice: GradedTwice) -> None:
    """Slow: a class is graded by both."""
    assert sorted(d.student for d in graded_twice.outcomes) == STUDENTS
    assert not any(d.failure for d in graded_twice.outcomes)


@pytest.mark.slow
def test_marks_and_penalties_are_those_of_nbgrader_autograde(graded_twice: GradedTwice) -> None:
    """Slow: the same class."""
    rows = read_gradebook_rows(graded_twice.by_gradlab)
    assert rows == read_gradebook_rows(graded_twice.by_nbgrader)
    assert rows["late"][3] == 0.5
    assert rows["greedy"][3] < 2


@pytest.mark.slow
def test_notebooks_and_files_are_those_of_nbgrader_autograde(graded_twice: GradedTwice) -> None:
    """Slow: the same class."""
    files = read_written_files(graded_twice.by_gradlab)
    assert files == read_written_files(graded_twice.by_nbgrader)
    assert {f"wrong/{LAB}/data/numbers.csv", f"wrong/{LAB}/given.txt"} < set(files)


@pytest.mark.slow
def test_results_are_those_of_nbgrader_autograde(graded_twice: GradedTwice) -> None:
    """Slow: the same class."""
    for outcome in graded_twice.outcomes:
        ours = load_document(graded_twice.by_gradlab, LAB, outcome.student)
        theirs = load_document(graded_twice.by_nbgrader, LAB, outcome.student)
        assert ours is not None
        assert theirs is not None
        assert ours.cells == theirs.cells
        assert ours.notes == theirs.notes


@pytest.mark.slow
def test_changes_that_a_person_made_in_the_gradebook_are_kept(small_course: Path, two_graders: LocalExecutor) -> None:
    """Slow: a class is graded twice."""
    hand_in(small_course, {"right": None, "wrong": WRONG})
    api = open_course(small_course)
    list(grade_lab(api, LAB, two_graders))
    with api.api.gradebook as gradebook:
        grade = gradebook.find_grade("check-sum_of_squares", LAB, LAB, "wrong")
        grade.manual_score, grade.extra_credit = 1.25, 0.5
        gradebook.find_comment("exercise-sum_of_squares", LAB, LAB, "wrong").manual_comment = "Look at the sign."
        gradebook.db.commit()
    for is_second_run in (False, True):
        list(grade_lab(api, LAB, two_graders, include_current=is_second_run))
        row = read_gradebook_rows(small_course)["wrong"]
        assert row[1] == 1.75 and ("exercise-sum_of_squares", None, "Look at the sign.") in row[5]
        assert row[4][0][4] is False, "unlike with nbgrader, the mark holds: the answer is the one that was read"
