"""`gradlab grade` writes what `nbgrader autograde` writes, to the byte."""

import shutil
from pathlib import Path

import pytest

from autograder.classroom.class_grading import grade_lab
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.store import load_result
from autograder.workers.executors import LocalExecutor
from tests.classroom.graded_class import LAB, WRONG, hand_in, read_gradebook_rows, read_written_files
from tests.classroom.late_class import make_class, open_class


@pytest.mark.slow
def test_marks_penalties_notebooks_and_files_are_those_of_nbgrader_autograde(
    small_course: Path, tmp_path: Path, two_graders: LocalExecutor
) -> None:
    """Slow: a class is graded twice, once by nbgrader."""
    make_class(small_course)
    other = tmp_path / "other"
    shutil.copytree(small_course, other)
    api = open_class(small_course)
    for folder in sorted((small_course / "submitted").iterdir()):
        assert api.api.autograde(LAB, folder.name, force=True, create=True)["success"]
    outcomes = list(grade_lab(open_class(other), LAB, two_graders))
    assert sorted(d.student for d in outcomes) == ["broken", "greedy", "late", "prints", "right", "wrong"]
    assert not any(d.failure for d in outcomes)
    assert read_gradebook_rows(other) == read_gradebook_rows(small_course)
    assert read_gradebook_rows(other)["late"][3] == 0.5
    assert read_gradebook_rows(other)["greedy"][3] < 2
    assert read_written_files(other) == read_written_files(small_course)
    assert {f"wrong/{LAB}/data/numbers.csv", f"wrong/{LAB}/given.txt"} < set(read_written_files(other))
    for student in read_gradebook_rows(other):
        documents = [load_result(course, LAB, student) for course in (small_course, other)]
        assert documents[0]
        assert documents[1]
        assert documents[1].model_copy(update={"key": ""}).cells == documents[0].cells
        assert documents[1].notes == documents[0].notes


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
        list(grade_lab(api, LAB, two_graders, again=is_second_run))
        row = read_gradebook_rows(small_course)["wrong"]
        assert row[1] == 1.75 and ("exercise-sum_of_squares", None, "Look at the sign.") in row[5]
        assert row[4][0][4] is False, "unlike with nbgrader, the mark holds: the answer is the one that was read"
