"""With `tell = "visible"`, a page doesn't depend on hidden checks, and counts only checks that a student can run."""

import html
import re
from dataclasses import replace

import nbformat
import pytest

from autograder.gradebook.submission_result import GradedCellResult, SubmissionResult
from autograder.model.notes import Note, NoteKind
from autograder.model.term import ExcusedChecks, Tell
from autograder.reports.feedback import PageOptions, render_feedback_page
from autograder.reports.notice_page import HEAD_BYTES, is_notice_page, render_notice_page
from autograder.reports.student_view import build_student_view, drop_hidden_checks
from labkit.outcome import Outcome, compute_earned

VISIBLE = Outcome("a", "3 and 4 give 25", passed=True)
GUARD = Outcome("b", "x stays", passed=True, guard=True)
HIDDEN = Outcome("c", "other shapes", weight=2, passed=True, hidden=True, required=True)


def make_submission(hidden: bool, penalty: float = 0.0, notes: tuple[Note, ...] = ()) -> SubmissionResult:
    """Two exercises, of which the second has only hidden checks, and a question. hidden: whether those passed."""
    last = replace(HIDDEN, passed=hidden)
    checks = {"squares": (VISIBLE, GUARD, last), "quiz": (last,)}
    exercises = [
        GradedCellResult(name=name, points=compute_earned(of_it, 8), worth=8, checks=of_it)
        for name, of_it in checks.items()
    ]
    exercises.append(GradedCellResult(name="why", points=1.5, worth=2, by_hand=True, comment="well said"))
    points = sum(e.points or 0 for e in exercises) - penalty
    return SubmissionResult(
        student="ada", lab="x", points=points, worth=18, penalty=penalty, exercises=tuple(exercises), notes=notes
    )


def render_page(result: SubmissionResult, tell: Tell) -> str:
    return render_feedback_page(result, nbformat.v4.new_notebook(), PageOptions(tell))


def test_neither_points_nor_totals_nor_reasons_depend_on_hidden_checks() -> None:
    right, wrong = make_submission(True), make_submission(False)
    assert right.points == 17.5 and wrong.points == 1.5, "a required check that fails voids the exercise"
    assert render_page(right, "visible") == render_page(wrong, "visible")
    assert render_page(right, "points") != render_page(wrong, "points") and render_page(right, "all") != render_page(
        wrong, "all"
    )


def test_lateness_is_a_share_of_all_points_and_therefore_not_shown() -> None:
    assert render_page(make_submission(True, penalty=1.75), "visible") == render_page(make_submission(False), "visible")
    assert "after a penalty of 1.75 for lateness" in render_page(make_submission(True, penalty=1.75), "all")


def test_only_checks_that_the_student_can_run_are_counted() -> None:
    text = html.unescape(
        re.sub(r"\s+", " ", re.sub(r"<(?!meta)[^>]+>", " ", render_page(make_submission(False), "visible")))
    )
    assert 'content="5.5 of 6 points without hidden checks"' in text, "JupyterLab shows it too"
    assert "4 of 4 points. Hidden checks decide 4 more, which you'll see later." in text
    assert "Hidden checks decide 8 points, which you'll see later." in text
    assert "other shapes" not in text and "well said" in text


def test_a_required_hidden_check_takes_nothing_from_those_above() -> None:
    checks = build_student_view(make_submission(False).exercises, "visible")["squares"]
    assert [(check.label, check.points, check.unearned) for check in checks] == [
        ("3 and 4 give 25", 2, ""),
        ("x stays", 2, ""),
    ]
    assert build_student_view(make_submission(False).exercises, "points")["squares"] == []


@pytest.mark.parametrize("excused", [ExcusedChecks(frozenset({"c"})), ExcusedChecks(is_whole=True)])
def test_an_excuse_of_a_hidden_check_reveals_nothing_about_it(excused: ExcusedChecks) -> None:
    def view_without_hidden_checks(hidden: bool) -> SubmissionResult:
        result = make_submission(hidden)
        squares = result.exercises[0].model_copy(update={"excused": excused})
        return drop_hidden_checks(result.model_copy(update={"exercises": (squares, *result.exercises[1:])}), "visible")

    assert [(e.points, e.worth) for e in view_without_hidden_checks(True).exercises] == [
        (e.points, e.worth) for e in view_without_hidden_checks(False).exercises
    ]


def test_a_note_on_the_cell_of_a_hidden_test_is_left_out() -> None:
    """For a stock assignment, whose tests run in the submission's process."""
    test = GradedCellResult(
        name="test_a", points=0, worth=2, checks=(replace(HIDDEN, passed=False),), notebook="ps1", cell="test_a"
    )
    late = Note(kind=NoteKind.STOPPED, words="it ran longer than 9 s", notebook=test.notebook, cell="test_a")
    notes = (late, Note(words="A cell was put back."))
    result = SubmissionResult(student="ada", lab="x", points=0, worth=2, exercises=(test,), notes=notes)
    assert drop_hidden_checks(result, "visible").notes == (Note(words="A cell was put back."),)


def test_a_page_without_a_mark_is_known_by_its_head_and_no_other_is() -> None:
    name = '<meta name="gradlab-unmarked"'
    text = render_notice_page(
        name, name, "2026-02-01 10:01 UTC", "Not marked: all 3 attempts are used up.", "The last mark counts."
    )
    assert is_notice_page(text.encode()[:HEAD_BYTES]) and text.count(name) == 1
    assert "Not marked: all 3 attempts are used up." in text and "<script" not in text
    result = make_submission(True).model_copy(update={"lab": name, "student": name})
    assert not is_notice_page(render_page(result, "all").encode())


def test_a_line_on_attempts_is_near_the_top() -> None:
    line = "Attempt 2 of 3."
    text = render_feedback_page(make_submission(True), nbformat.v4.new_notebook(), PageOptions(attempts=line))
    assert text.index(line) < text.index("<table")


def test_the_page_of_an_own_copy_also_says_what_hidden_checks_expected() -> None:
    failed = [
        replace(HIDDEN, id=name, passed=False, required=False, seen="your result[0] is 0", expected=expected)
        for name, expected in {"c": "4", "d": "5"}.items()
    ]
    visible = replace(VISIBLE, passed=False, seen="your result is 7", expected="25")
    exercise = GradedCellResult(name="squares", points=0, worth=8, checks=(visible, *failed, visible))
    in_class, own = (build_student_view([exercise], is_own_copy=is_own)["squares"] for is_own in (False, True))
    assert [check.expected for check in own] == ["25", "4", "5", "25"]
    assert [check.expected for check in in_class] == ["25", "", "", ""]
    assert [check.seen for check in own[1:3]] == ["your result[0] is 0"] * 2
    assert [check.seen for check in in_class[1:3]] == ["your result[0] is 0", "the same as for “other shapes”"]


def test_only_an_own_copy_is_shown_which_call_failed() -> None:
    call = "square(tensor([31337.]))"
    failed = tuple(replace(each, passed=False, seen="your result is 7", call=call) for each in (VISIBLE, HIDDEN))
    exercise = GradedCellResult(name="squares", points=0, worth=8, checks=failed)
    result = make_submission(False).model_copy(update={"exercises": (exercise,)})
    notebook = nbformat.v4.new_notebook()
    in_class, own = (
        html.unescape(render_feedback_page(result, notebook, PageOptions(is_own_copy=is_own)))
        for is_own in (False, True)
    )
    assert "31337" not in in_class and own.count("31337") >= 2


def test_a_hidden_check_with_an_earlier_ones_result_names_that_check_even_on_an_own_copy() -> None:
    failed = [
        Outcome(label, label, hidden=True, seen="your result is 0", expected=expected)
        for label, expected in (("zeros", "1"), ("steps", "2"), ("empty", "1"))
    ]
    exercise = GradedCellResult(name="slots", points=0, worth=1, checks=tuple(failed))
    last = build_student_view([exercise], is_own_copy=True)["slots"][2]
    assert (last.seen, last.expected) == ("the same as for “zeros”", "")


def test_the_page_of_an_own_copy_is_called_yours() -> None:
    pages = [
        render_feedback_page(make_submission(True), nbformat.v4.new_notebook(), PageOptions(is_own_copy=is_own))
        for is_own in (False, True)
    ]
    assert ["Feedback for ada." in page for page in pages] == [True, False]
    assert ["Your notebook, as it was when it was marked." in page for page in pages] == [False, True]


def test_a_page_says_that_it_keeps_the_inputs_of_hidden_checks_back() -> None:
    notebook, words = nbformat.v4.new_notebook(), "what they expect aren't shown"
    result = make_submission(False)
    assert words in html.unescape(render_feedback_page(result, notebook, PageOptions()))
    assert words not in html.unescape(render_feedback_page(result, notebook, PageOptions(is_own_copy=True)))
