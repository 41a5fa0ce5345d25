"""Help for people who work alone: solutions after two marks below full, and their own marks for written answers."""

import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from autograder.authoring.course_folder import build_course, read_course
from autograder.base.errors import GradlabError
from autograder.classroom.copy_marks import (
    build_marks,
    read_key,
    read_model_answers,
    read_solution,
    save_own_mark,
    write_marks,
)
from autograder.gradebook.submission_result import GradedCellResult, SubmissionResult
from autograder.reports.feedback import PageOptions, render_feedback_page
from labkit.mark_file import ExerciseMark, read_marks
from labkit.outcome import Outcome

LAB = "01_squares"
QUESTION = """
# %% question: why [markdown] points=1
# Why is a square never negative?
#
# ### BEGIN SOLUTION
# Two numbers of one sign.
# ### END SOLUTION
"""
QUIZ = """
# %% quiz: interview points=2
# **Squares**
#
# - [x] A square is never negative.
#   > The product of two numbers of one sign.
# - [ ] A square is never below its root.
#   > Between 0 and `1` it is.
#
# Hint: Think of zero.
#
# **Sums**
#
# - [ ] An empty sum is an error.
#   > It is zero.
# - [x] An empty sum is zero.
#   > Nothing was added.
#
# Hint: What is added?
"""
QUIZ_NAMES = "assert_answered, assert_close, assert_letters, check, explain"
Write = Callable[[str, str], Path]


@pytest.fixture
def write(small_course: Path) -> Write:
    """Writes a text into a cell of the student's own copy, and returns the copy's path."""
    lesson = small_course / "labs" / LAB / "lab.py"
    lesson.write_text(lesson.read_text().rstrip() + "\n" + QUESTION)
    build_course(read_course(small_course))
    shutil.copytree(small_course / "release", small_course / "work")
    copy = small_course / "work" / LAB / f"{LAB}.ipynb"

    def write_text(name: str, text: str) -> Path:
        notebook = nbformat.read(copy, as_version=4)
        for cell in notebook.cells:
            facts = cell.metadata.gradlab
            if facts.get("exercise") == name and facts.kind in ("exercise", "question"):
                cell.source = text
        nbformat.write(notebook, copy)
        return copy

    return write_text


def grade(copy: Path, points: float) -> ExerciseMark:
    """Give sum_of_squares these points, as the grader would, and return its mark."""
    outcome = Outcome("empty", "an empty tensor", passed=points == 2, hidden=True, seen="your result is 1")
    exercise = GradedCellResult(name="sum_of_squares", points=points, worth=2.0, checks=(outcome,))
    result = SubmissionResult(student="me", lab=LAB, points=points, worth=2.0, exercises=(exercise,))
    notebook = nbformat.read(copy, as_version=4)
    write_marks(copy, build_marks(result, notebook, copy.read_bytes(), read_marks(copy)))
    return read_marks(copy)["sum_of_squares"]


def test_the_solution_is_shown_after_two_different_answers_below_full_marks(small_course: Path, write: Write) -> None:
    copy = write("sum_of_squares", "def sum_of_squares(x):\n    return 1")
    for answer, tries in (("1", 1), ("1", 1), ("2", 2)):
        copy = write("sum_of_squares", f"def sum_of_squares(x):\n    return {answer}")
        with pytest.raises(GradlabError, match="after 2 different answers"):
            read_solution(small_course, copy, "sum_of_squares")
        mark = grade(copy, 1.0)
        assert mark.tries == tries and mark.hidden[0].label == "an empty tensor" and not mark.hidden[0].passed
    assert "(x * x).sum()" in read_solution(small_course, copy, "sum_of_squares")


def test_an_unwritten_answer_is_no_try(write: Write) -> None:
    assert grade(write("no exercise", ""), 0.0).tries == 0
    assert grade(write("sum_of_squares", "def sum_of_squares(x):\n    return 1"), 0.0).tries == 1


def test_full_marks_are_no_try(write: Write) -> None:
    copy = write("sum_of_squares", "def sum_of_squares(x):\n    return 1")
    assert grade(copy, 1.0).tries == 1
    copy = write("sum_of_squares", "def sum_of_squares(x):\n    return (x * x).sum()")
    assert grade(copy, 2.0).tries == 1


def test_a_written_answer_is_compared_and_marked_by_its_writer(small_course: Path, write: Write) -> None:
    copy = write("sum_of_squares", "def sum_of_squares(x):\n    return 1")
    for refused in (lambda: read_solution(small_course, copy, "why"), lambda: save_own_mark(copy, "why", 1.0)):
        with pytest.raises(GradlabError, match=r"written|Write your answer"):
            refused()
    copy = write("why", "Because.")
    assert read_solution(small_course, copy, "why").strip() == "<p>Two numbers of one sign.</p>"
    with pytest.raises(GradlabError, match="from 0 to 1"):
        save_own_mark(copy, "why", 2.0)
    assert save_own_mark(copy, "why", 0.5) == 0.5

    # It's kept as long as the answer is the same.
    grade(copy, 1.0)
    assert read_marks(copy)["why"].points == 0.5 and read_marks(copy)["why"].is_own
    copy = write("why", "It is a product.")
    grade(copy, 1.0)
    assert "why" not in read_marks(copy)


def test_only_work_of_the_notebook_has_a_solution(small_course: Path, write: Write) -> None:
    copy = write("why", "Because.")
    with pytest.raises(GradlabError, match="isn't in the saved notebook"):
        read_solution(small_course, copy, "other")


def test_a_question_of_a_quiz_has_to_be_answered_before_it_is_compared(small_course: Path, write: Write) -> None:
    lesson = small_course / "labs" / LAB / "lab.py"
    text = lesson.read_text().replace("import assert_close, check, explain", f"import {QUIZ_NAMES}")
    lesson.write_text(text.rstrip() + "\n" + QUIZ)
    build_course(read_course(small_course))
    shutil.rmtree(small_course / "work")
    shutil.copytree(small_course / "release", small_course / "work")
    copy = write("interview", 'def interview():\n    return {"q1": "b", "q2": ""}')
    statements = read_key(small_course, copy, "interview", "q1")
    assert [(each["letter"], each["true"]) for each in statements] == [("a", True), ("b", False)]
    assert "<code>1</code>" in statements[1]["reason"]
    for question in ("q2", "q9"):
        with pytest.raises(GradlabError, match="Select at least one"):
            read_key(small_course, copy, "interview", question)


def test_the_page_of_your_own_copy_shows_the_model_answer_once_you_have_written_yours(
    small_course: Path, write: Write
) -> None:
    exercise = GradedCellResult(name="why", points=None, worth=1.0, by_hand=True)
    result = SubmissionResult(student="me", lab=LAB, points=0, worth=1.0, exercises=(exercise,))

    def render(copy: Path) -> str:
        notebook = nbformat.read(copy, as_version=4)
        solutions = read_model_answers(small_course, copy, result, notebook)
        return render_feedback_page(result, notebook, PageOptions(solutions=solutions, is_own_copy=True))

    unwritten, written = render(write("no exercise", "")), render(write("why", "Because."))
    assert "A model answer" not in unwritten and "Two numbers of one sign." not in unwritten
    assert "A model answer" in written and "Two numbers of one sign." in written
