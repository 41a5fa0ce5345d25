"""Feedback pages: useful to the student, and without a line of a hidden check."""

import base64
import html
import re
import shutil
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch

from autograder.authoring.course_folder import read_course, read_labs
from autograder.authoring.notebooks import build_source_notebook
from autograder.authoring.regions import HIDDEN
from autograder.examiner.connection import STARVED, build_timeout
from autograder.gradebook.submission_result import GradedCellResult, SubmissionResult
from autograder.intake.repair import build_released_cell
from autograder.model.course import Course
from autograder.model.notes import Note
from autograder.model.term import ExcusedChecks, Tell
from autograder.proving.workbench import iter_workbenches
from autograder.rendering.picture_size import MAX_PIXELS
from autograder.rendering.safe_svg import count_safe_pixels
from autograder.reports.exercise_cells import read_letters
from autograder.reports.feedback import NOT_SHOWN, PageOptions, render_feedback_page, write_feedback
from autograder.reports.page_templates import add_breaks
from autograder.reports.student_cells import ShownCell, render_cell, render_student_cells
from autograder.reports.student_view import COMPARE, EXCUSED, SHORT_LIMIT, build_shown_check, build_student_view
from labkit import assert_close, check, show_strides
from labkit.cause import Cause
from labkit.check import record_outcomes
from labkit.outcome import Blame, Outcome
from tests.authoring.secret_lines import find_secret_lines

RAISED: dict[str, Any] = {
    "id": "a",
    "label": "a",
    "weight": 1,
    "passed": False,
    "seen": "raised ValueError: secret 7",
    "error": "ValueError",
}


def test_from_the_first_hidden_check_on_only_the_type_of_an_exception_is_shown() -> None:
    """In visible checks too: a student's code could keep a hidden check's input and reveal it in a later one."""
    visible, hidden = Outcome(**RAISED), Outcome(**RAISED, hidden=True)
    exercises = [
        GradedCellResult(name=name, points=0, worth=1, checks=(visible, hidden, visible))
        for name in ("first", "second")
    ]
    view = build_student_view(exercises)
    first, second, third = (check.seen for check in view["first"])
    assert first == "raised ValueError: secret 7"
    assert second == "your code raised ValueError"
    assert third.startswith("your code raised ValueError. ") and "secret" not in third
    assert not any("secret" in check.seen for check in view["second"])


def test_an_exercise_that_is_not_written_is_called_so() -> None:
    unwritten = {
        "cause": Cause.UNWRITTEN,
        "error": "NotImplementedError",
        "seen": "This exercise is not written yet.",
        "blame": "student",
    }
    check = Outcome(hidden=True, **{**RAISED, **unwritten})
    assert build_shown_check(check, after_hidden=True).seen == "This exercise is not written yet."


def test_a_message_about_a_students_own_result_holds_few_digits() -> None:
    long = f"your result has shape ({', '.join(['1234567'] * 60)})"
    check = Outcome(hidden=True, **{**RAISED, "error": "", "seen": long})
    message = build_shown_check(check, after_hidden=True).seen
    assert message.startswith("your result has shape (1234567, 1234567")
    assert message.endswith(" ...")
    assert len(message) < 80
    assert build_shown_check(check, after_hidden=False).seen == long


@pytest.mark.parametrize("value", [[[[]], ()] * 8, [True, None, False] * 4, [float("nan")] * 15])
def test_such_a_message_reveals_no_more_by_brackets_and_words(value: list[object]) -> None:
    with record_outcomes() as outcomes, check("same", "the values are these"):
        assert_close(value, torch.zeros(3))
    assert str(value) in outcomes[0].seen
    message = build_shown_check(replace(outcomes[0], hidden=True), after_hidden=True).seen
    assert len(re.findall(r"[^\s,a-z]|[a-z]{2,}", message.removeprefix("your result is "))) <= 44


@pytest.mark.parametrize(
    "value",
    [[..., torch.strided] * 30, [torch.preserve_format, torch.sparse_coo] * 30, [str, bytes] * 30, [iter("")] * 9],
)
def test_a_message_that_a_check_writes_reveals_no_more_by_names_of_constants_and_types(value: list[object]) -> None:
    message = build_shown_check(Outcome("keys", seen=f"your keys are {value}"), after_hidden=True).seen
    assert message.endswith(" ...") and message.count(",") <= 40


def read_text(page: str) -> str:
    """The page's text, without the elements that color code."""
    return html.unescape(re.sub(r"</?\w[^>]*>", "", page))


def make_failure(hidden: bool) -> Outcome:
    with record_outcomes() as outcomes, check("same", "the values are these"):
        assert_close(torch.zeros(3, 4), torch.arange(12.0).reshape(3, 4))
    return replace(outcomes[0], hidden=hidden)


def test_matrices_are_shown_only_for_visible_checks_before_the_first_hidden_one() -> None:
    """A later visible check's matrices could contain a hidden check's input, so the page says where to see them."""
    visible, hidden, later = build_student_view(
        [
            GradedCellResult(
                name="f", points=0, worth=1, checks=(make_failure(False), make_failure(True), make_failure(False))
            )
        ]
    )["f"]
    assert visible.difference is not None and "Run this check" not in visible.seen
    assert hidden.difference is None and "Run this check" not in hidden.seen
    assert later.difference is None and later.seen.endswith(COMPARE)


def list_timeout_messages(*seconds: float, hidden: bool = False) -> list[str]:
    """The page's messages about checks that reached these limits; 0: the machine was too busy."""
    reasons = [build_timeout(each) if each else STARVED for each in seconds]
    checks = tuple(
        Outcome(
            f"c{n}",
            "it ends",
            seen=str(reason),
            blame=Blame.PROCESS,
            hidden=hidden,
            cause=reason.cause,
            limit=reason.seconds,
        )
        for n, reason in enumerate(reasons)
    )
    exercise = GradedCellResult(name="f", points=0, worth=1, checks=checks)
    page = render_feedback_page(
        SubmissionResult(student="ada", lab="x", points=0, worth=1, exercises=(exercise,)), nbformat.v4.new_notebook()
    )
    messages = [check.seen for check in build_student_view([exercise])["f"]]
    assert all(f'<div class="why">{text}</div>' in page for text in messages)
    return messages


@pytest.mark.parametrize("hidden", [False, True])
def test_the_first_limit_that_is_shorter_than_the_labs_says_why(hidden: bool) -> None:
    lab, short = "the time limit of 8 s for a check was reached", "the time limit of 1 s for a check was reached"
    assert SHORT_LIMIT == ": after one check of an exercise runs out of time, each of its others gets 1 s"
    assert list_timeout_messages(8, 1, 1, hidden=hidden) == [lab, short + SHORT_LIMIT, short]
    assert list_timeout_messages(0, 8, 1, hidden=hidden)[2] == short + SHORT_LIMIT
    assert list_timeout_messages(1, 1, 1, hidden=hidden) == [short] * 3, "the lab's own"


@pytest.mark.parametrize("is_own_copy", [False, True])
def test_a_check_without_time_is_not_called_a_failure(is_own_copy: bool) -> None:
    late = Outcome("a", "it ends", cause=Cause.TIME, limit=20, blame=Blame.PROCESS)
    wrong = Outcome("b", "it's right", seen="your result is 1")
    exercise = GradedCellResult(name="f", points=0, worth=1, checks=(late, wrong))
    result = SubmissionResult(student="ada", lab="x", points=0, worth=1, exercises=(exercise,))
    page = render_feedback_page(result, nbformat.v4.new_notebook(), PageOptions(is_own_copy=is_own_copy))
    summary = page[page.index('<table class="exercises">') : page.index('<h2 id="f">')]
    assert "out of time: it ends" in summary and "fails: it&#39;s right" in summary
    assert summary.count("fails:") == 1
    assert ("the computer was busy: mark it again" in page) == is_own_copy


def test_a_students_exception_with_the_words_of_a_limit_is_no_limit() -> None:
    late = [Outcome(f"c{n}", "it ends", cause=Cause.TIME, limit=20, blame=Blame.PROCESS) for n in range(2)]
    students_error = Outcome("own", "it ends", seen=str(build_timeout(1)), error="ValueError", blame=Blame.STUDENT)
    exercise = GradedCellResult(name="f", points=0, worth=1, checks=(*late, students_error))
    assert build_student_view([exercise])["f"][2].seen == str(build_timeout(1))


def test_a_name_may_break_between_its_parts_and_a_number_may_not() -> None:
    assert add_breaks("scaled_dot_product") == "scaled_<wbr>dot_<wbr>product"
    assert add_breaks("ada_1@uni.example: __init__ of torch.nn, 0.5 <b>") == (
        "ada_<wbr>1@<wbr>uni.<wbr>example: __init__ of torch.<wbr>nn, 0.5 &lt;b&gt;"
    )


def test_the_page_shows_the_students_and_the_expected_matrix_of_a_visible_check() -> None:
    exercises = [GradedCellResult(name="f", points=0, worth=1, checks=(make_failure(False), make_failure(True)))]
    result = SubmissionResult(student="ada", lab="x", points=0, worth=1, exercises=tuple(exercises))
    page = render_feedback_page(result, nbformat.v4.new_notebook())
    assert page.count("<pre") == 2 and "<b>both:</b> shape (3, 4), float32" in page
    assert page.count("text-decoration:underline") == 2 * 11


@pytest.mark.parametrize(
    ("penalty", "tell", "words"),
    [
        (0, "all", "18:00 UTC, 2 h 5 min late, without a penalty."),
        (0.5, "all", "after a penalty of 0.5 for lateness"),
        (0.5, "visible", "18:00 UTC, 2 h 5 min late."),
    ],
)
def test_the_page_says_how_late_a_submission_is_and_what_that_costs(penalty: float, tell: Tell, words: str) -> None:
    submitted = datetime(2027, 2, 3, 18)
    result = SubmissionResult(
        student="ada", lab="x", points=1, worth=1, penalty=penalty, submitted=submitted, seconds_late=7500
    )
    page = render_feedback_page(result, nbformat.v4.new_notebook(), PageOptions(tell))
    assert words in page and (penalty == 0 or "without a penalty" not in page)


def test_each_check_says_its_points_and_what_an_unpaid_one_waits_for() -> None:
    form = Outcome("form", "a tensor comes back", required=True, seen="your result is None")
    guard = Outcome("kept", "x is as it was", weight=2, guard=True, passed=True)
    exercises = [GradedCellResult(name="f", points=0, worth=6, checks=(form, guard, Outcome("values", weight=3)))]
    points_by_label = {check.label: (check.points, check.unearned) for check in build_student_view(exercises)["f"]}
    assert points_by_label["a tensor comes back"] == (1, "The exercise earns no points until this check passes.")
    assert points_by_label["x is as it was"] == (2, "Earns points once “a tensor comes back” passes.")
    assert points_by_label["values"] == (3, "")
    guard_views = build_student_view(
        [GradedCellResult(name="f", points=0, worth=1, checks=(guard, Outcome("values")))]
    )["f"]
    assert guard_views[0].unearned == "Earns points once a check of your result's values passes."
    practice = [GradedCellResult(name="f", points=0, worth=0, checks=(form, guard))]
    assert [check.unearned for check in build_student_view(practice)["f"]] == ["", ""]


def test_the_page_gives_a_checks_share_instead_of_fractions_of_a_point() -> None:
    checks = (Outcome("values", weight=2, passed=True), Outcome("shape"))
    exercise = GradedCellResult(name="f", points=0.5333, worth=0.8, checks=checks)
    result = SubmissionResult(student="ada", lab="x", points=0.5333, worth=0.8, exercises=(exercise,))
    page = render_feedback_page(result, nbformat.v4.new_notebook())
    assert re.findall(r'<td class="number">(\S.*%)</td>', page) == ["67%", "0 of 33%"]
    assert "0.27" not in page


@pytest.mark.parametrize(
    ("answer", "letters"),
    [
        ('def quiz():\n    return {"q1": "ab", "q2": ""}', {"q1": "ab", "q2": ""}),
        ("quiz = lambda: dict(q1='B, A', q2='e')", {"q1": "b, a", "q2": "e"}),
        ("def quiz():\n    return letters", None),
    ],
)
def test_the_page_says_of_each_statement_whether_it_was_selected(answer: str, letters: dict[str, str] | None) -> None:
    statements = [
        {"question": "q1", "letter": letter, "text": f"`{letter}` holds", "true": letter == "a", "reason": "so it is"}
        for letter in "ab"
    ]
    cell = nbformat.v4.new_code_cell(answer, id="exercise-quiz")
    cell.metadata["gradlab"] = {"kind": "exercise", "exercise": "quiz", "points": 1.0, "quiz": statements}
    notebook = nbformat.v4.new_notebook(cells=[cell])
    assert read_letters(notebook, "quiz") == letters
    result = SubmissionResult(
        student="ada", lab="x", points=0, worth=1, exercises=(GradedCellResult(name="quiz", points=0, worth=1),)
    )
    page = render_feedback_page(result, notebook)
    assert "<code>a</code> holds" in page and "True: so it is" in page
    assert ("selected</div>" in page) == (letters is not None)
    if letters is not None:
        right, wrong = (
            'right</span><div class="gradlab-small">selected',
            'wrong</span><div class="gradlab-small">selected',
        )
        assert right in page and wrong in page and "q1 b" in page


def test_formulas_of_the_courses_own_texts_are_rendered_and_a_message_about_a_result_stays_text() -> None:
    statement = {
        "question": "q1",
        "letter": "a",
        "text": "The *mean* is $m$",
        "true": True,
        "reason": r"$\sqrt v$ grows",
    }
    cell = nbformat.v4.new_code_cell('quiz = {"q1": "a"}  # $x$', id="exercise-quiz")
    cell.metadata["gradlab"] = {"kind": "exercise", "exercise": "quiz", "title": "Why $n$?", "quiz": [statement]}
    failed = Outcome("a", "a step of $h$ and `x*2`", seen="your result is $s$", hint="Is $k$ in `a_b` * 2?")
    exercise = GradedCellResult(name="quiz", points=0, worth=1, checks=(failed,))
    result = SubmissionResult(student="ada", lab="x", points=0, worth=1, exercises=(exercise,))
    page = render_feedback_page(result, nbformat.v4.new_notebook(cells=[cell]))
    assert {name: page.count(f"<mi>{name}</mi>") for name in "mvhkns"} == {
        "m": 1,
        "v": 1,
        "h": 2,
        "k": 1,
        "n": 2,
        "s": 0,
    }
    assert "<em>mean</em>" in page and "<code>x*2</code>" in page and "<code>a_b</code> * 2?" in page
    assert "your result is $s$" in page and "True: <p>" not in page


@pytest.mark.slow
@pytest.mark.nightly
def test_no_line_of_a_hidden_check_is_on_any_page(course: Course, tmp_path: Path) -> None:
    """Slow: tries an empty and a wrong answer of every exercise. By day test_nbgrader_cycle.py reads a class's pages."""
    for lab in read_labs(course):
        notebook = build_source_notebook(lab)
        notebook.cells = [build_released_cell(cell) for cell in notebook.cells]
        exercises: dict[str, list[GradedCellResult]] = {"blank": [], "wrong": []}
        for bench in iter_workbenches(lab):
            wrong = next(answer for answer in bench.exercise.answers if not answer.right)
            hidden = {c.id for c in bench.exercise.checks if c.hidden}
            for student, trial in (("blank", bench.try_blank()), ("wrong", bench.try_source(wrong.source))):
                checks = tuple(replace(outcome, hidden=outcome.id in hidden) for outcome in trial.outcomes)
                assert len(checks) == len(bench.exercise.checks)
                name, worth = bench.exercise.name, bench.exercise.points
                exercises[student].append(GradedCellResult(name=name, points=trial.points, worth=worth, checks=checks))
        for student, answers in exercises.items():
            place = tmp_path / "autograded" / student / lab.name / f"{lab.name}.ipynb"
            place.parent.mkdir(parents=True)
            nbformat.write(notebook, place)
            result = SubmissionResult(student=student, lab=lab.name, points=1, worth=2, exercises=tuple(answers))
            (page,) = write_feedback([result], tmp_path, lab.name)
            lines = {line.strip() for line in html.unescape(page.read_text()).splitlines()}
            secrets = find_secret_lines(lab, HIDDEN)
            assert len(secrets) > 100
            assert not secrets & lines


def test_own_code_output_comments_and_notes_are_shown_and_escaped(tmp_path: Path) -> None:
    cell = nbformat.v4.new_code_cell("print('<b>')", metadata={"nbgrader": {"grade_id": "exercise-f"}})
    cell.outputs = [
        nbformat.v4.new_output("stream", name="stdout", text="<script>alert(1)</script>"),
        nbformat.v4.new_output("display_data", {"image/png": 'AAAA"onerror="x', "text/plain": "picture"}),
        nbformat.v4.new_output("error", ename="ValueError", evalue="own mistake", traceback=["x"]),
    ]
    added_cell = nbformat.v4.new_code_cell("helper = 1")
    other = nbformat.v4.new_code_cell("secret = 1", metadata={"nbgrader": {"grade_id": "check-f"}})
    after = nbformat.v4.new_code_cell("after = 1")
    place = tmp_path / "autograded" / "ada" / "x" / "x.ipynb"
    place.parent.mkdir(parents=True)
    (place.parent / "timestamp.txt").write_text("now")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell, added_cell, other, after]), place)
    exercise = GradedCellResult(name="f", points=1, worth=2, comment="well done", checks=(Outcome("a", hint="why?"),))
    result = SubmissionResult(
        student="ada", lab="x", points=1, worth=2, exercises=(exercise,), notes=(Note(words="put back"),)
    )
    stale = tmp_path / "feedback" / "ada" / "x" / "submission_secret.txt"
    stale.parent.mkdir(parents=True)
    stale.write_text("of another member of the team")
    (page,) = write_feedback([result], tmp_path, "x")
    assert not stale.exists()
    text = page.read_text()
    assert "helper = 1" in read_text(text)
    for text_shown in (
        "well done",
        "put back",
        "<summary>Hint 1</summary>",
        "why?",
        "ValueError: own mistake",
        "1 of 2 points",
    ):
        assert text_shown in text
    assert "secret" not in text
    assert "<script" not in text
    assert '"onerror' not in text
    assert (page.parent / "timestamp.txt").read_text() == "now"


def test_an_excused_exercise_names_no_check_above_and_holds_nothing_back() -> None:
    form, guard = Outcome("form", "a tensor", required=True), Outcome("kept", "x stays", passed=True)
    exercise = GradedCellResult(name="f", points=2, worth=2, checks=(form, guard), excused=ExcusedChecks(is_whole=True))
    failed, passed = build_student_view([exercise])["f"]
    assert (failed.unearned, passed.unearned) == (EXCUSED, "")
    result = SubmissionResult(student="ada", lab="x", points=2, worth=2, exercises=(exercise,))
    page = render_feedback_page(result, nbformat.v4.new_notebook())
    assert '<div class="why">a tensor</div>' not in page and EXCUSED in page


def test_worked_solutions_are_shown_from_their_time_on_but_not_to_students_with_an_extension(
    built_course: Path, tmp_path: Path
) -> None:
    course = Path(shutil.copytree(built_course, tmp_path / "course"))
    (lab,) = read_labs(read_course(course))
    results = []
    for student in ("ada", "ben"):
        folder = course / "autograded" / student / lab.name
        folder.mkdir(parents=True)
        shutil.copy(course / "source" / lab.name / f"{lab.name}.ipynb", folder)
        exercises = [GradedCellResult(name=e.name, points=0, worth=e.points) for e in lab.exercises]
        submitted = datetime(2026, 2, 1, 9, 5)
        results.append(
            SubmissionResult(
                student=student, lab=lab.name, points=0, worth=1, exercises=tuple(exercises), submitted=submitted
            )
        )

    def pages(term: str) -> list[bool]:
        (course / "term.toml").write_text(term)
        texts = [page.read_text() for page in write_feedback(results, course, lab.name)]
        assert all("Submitted 2026-02-01 09:05 UTC." in text for text in texts)
        return ["The worked solution" in text for text in texts]

    term_file = f"[labs.{lab.name}]\nsolutions = {{}}\n"
    extension = f'[[extension]]\nlab = "{lab.name}"\nstudent = "ben"\nuntil = 2999-01-01T00:00:00Z\n'
    assert pages("") == pages(term_file.format("2999-01-01T00:00:00Z")) == [False, False]
    assert pages(term_file.format("2026-01-01T00:00:00Z")) == [True, True]
    assert pages(term_file.format("2026-01-01T00:00:00Z") + extension) == [True, False]
    page = (course / "feedback" / "ada" / lab.name / f"{lab.name}.html").read_text()
    solution = page.partition("The worked solution")[2].partition("</details>")[0]
    assert "return (x * x).sum()" in read_text(solution) and "SOLUTION" not in solution


def test_a_submission_without_an_autograded_notebook_has_no_page(tmp_path: Path) -> None:
    assert write_feedback([SubmissionResult(student="a", lab="x", points=0, worth=1)], tmp_path, "x") == []


LARGE = "<svg xmlns='http://www.w3.org/2000/svg' width='1000' height='1000'>{}</svg>"
PLAIN = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'>{}</svg>"


def test_a_drawing_of_labkit_is_shown_as_an_image_with_its_words() -> None:
    cell = nbformat.v4.new_code_cell("f()", metadata={"nbgrader": {"grade_id": "exercise-f"}})
    picture = show_strides(torch.arange(4))
    cell.outputs.append(nbformat.v4.new_output("display_data", picture._repr_mimebundle_()))
    (html_cell,) = render_student_cells(
        nbformat.v4.new_notebook(cells=[cell]), GradedCellResult(name="f", points=1, worth=1)
    )
    ((address, words),) = html_cell.pictures
    assert base64.b64decode(address.removeprefix("data:image/svg+xml;base64,")).decode() == picture.first_frame
    assert words == picture.words


@pytest.mark.parametrize(
    "inside",
    [
        "<script>1</script>",
        "<use href='#a'/>",
        "<g onload='1'/>",
        "<image href='http://x/'/>",
        "<rect fill='url(#a)'/>",
        "<style>@import 'x'</style>",
        "<g>" * 10_001 + "</g>" * 10_001,
    ],
)
def test_a_drawing_that_refers_to_anything_or_is_too_much_is_left_out(inside: str) -> None:
    assert (
        count_safe_pixels(
            PLAIN.format("<g><text>1</text><path d='M0 -1.5L9 9' stroke-dasharray='4 4'/></g>"), MAX_PIXELS
        )
        is not None
    )
    assert count_safe_pixels(PLAIN.format(inside), MAX_PIXELS) is None
    for slow in (
        PLAIN.format('<g style="filter:blur(40px)"><rect/></g>'),
        PLAIN.format('<rect style="fill:red; mix-blend-mode:color"/>'),
        PLAIN.format('<g filter="blur(9px)"/>'),
        PLAIN.format("<style>rect { animation: x 1s infinite }</style>"),
        PLAIN.format("<style><g/>@import 'x'</style>"),
        PLAIN.format("<g>" * 30 + "</g>" * 30),
        PLAIN.format("<path d='M0 0L9 9L0 0' stroke-dasharray='4 4'/>"),
        PLAIN.format("<path d='M0 0L90000 9' stroke-dasharray='4 4'/>"),
        PLAIN.format("<path d='M0 0L9 9' stroke-dasharray='.1'/>"),
        PLAIN.format("<path d='M0 0L9 9' style='stroke-dasharray:4 4'/>"),
        PLAIN.format("<rect width='9' height='9' stroke-dasharray='4 4'/>"),
        PLAIN.format("<path d='M0 0L9 9' stroke-dasharray='4 4'/>" * 201),
        LARGE.format(f'<text font-size="2048" letter-spacing="-1767">{"M" * 5_000}</text>'),
        LARGE.format(f'<text transform="scale(999)"><tspan>{"M" * 3_000}</tspan>{"M" * 3_000}</text>'),
        LARGE.format(f"<text><title>M</title>{'M' * 5_000}</text>"),
        LARGE.format(f"<path d='M0 0{'L999 9L9 999' * 2_500}'/>"),
        LARGE.format(f"<polyline points='{'9,.9 ' * 5_000}'/>"),
    ):
        assert count_safe_pixels(slow, MAX_PIXELS) is None, slow
    assert count_safe_pixels("<!DOCTYPE svg [<!ENTITY a 'a'>]>" + PLAIN.format("<g/>"), MAX_PIXELS) is None
    assert count_safe_pixels(PLAIN.replace("'9'", "'90000'").format(""), MAX_PIXELS) is None


def test_a_picture_that_would_fill_a_browser_is_left_out(tmp_path: Path) -> None:
    def png(width: int, height: int) -> str:
        head = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big")
        return base64.b64encode(head + bytes(40)).decode()

    cell = nbformat.v4.new_code_cell("f()", metadata={"nbgrader": {"grade_id": "exercise-f"}})
    for size in ((300, 200), (30_000, 20_000)):
        cell.outputs.append(nbformat.v4.new_output("display_data", {"image/png": png(*size)}))
    (html_cell,) = render_student_cells(
        nbformat.v4.new_notebook(cells=[cell]), GradedCellResult(name="f", points=1, worth=1)
    )
    assert len(html_cell.pictures) == 1 and "600,000,000 pixels" in html_cell.text


def test_work_that_cannot_be_shown_costs_its_page_the_work_and_no_one_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for student in ("ada", "mallory"):
        cell = nbformat.v4.new_code_cell(student, metadata={"nbgrader": {"grade_id": "exercise-f"}})
        place = tmp_path / "autograded" / student / "x" / "x.ipynb"
        place.parent.mkdir(parents=True)
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), place)
        exercise = GradedCellResult(name="f", points=1.5, worth=2)
        results.append(SubmissionResult(student=student, lab="x", points=1.5, worth=2, exercises=(exercise,)))

    def refuse(cell: Any) -> ShownCell:
        if cell.source == "mallory":
            raise RecursionError
        return render_cell(cell)

    monkeypatch.setattr("autograder.reports.student_cells.render_cell", refuse)
    ada, mallory = (page.read_text() for page in write_feedback(results, tmp_path, "x"))
    assert NOT_SHOWN not in read_text(ada)
    assert NOT_SHOWN in read_text(mallory) and "1.5 of 2" in mallory


def test_the_letters_of_a_docstring_are_no_answer() -> None:
    answer = 'def quiz():\n    """Letters, such as {"q1": "abc", "q2": "e"}."""\n    return {"q2": "b, D"}'
    cell = nbformat.v4.new_code_cell(answer, id="exercise-quiz")
    cell.metadata["gradlab"] = {"kind": "exercise", "exercise": "quiz", "points": 1.0}
    assert read_letters(nbformat.v4.new_notebook(cells=[cell]), "quiz") == {"q2": "b, d"}


def test_an_answer_that_is_not_written_shows_no_stub_and_its_title() -> None:
    stub = "*Double-click here.*"
    question = nbformat.v4.new_markdown_cell(stub, id="question-why_so")
    facts = {"kind": "question", "exercise": "why_so", "title": "In your own words", "points": 1.0, "stub": stub}
    question.metadata["gradlab"] = facts
    asks = nbformat.v4.new_markdown_cell("## In your own words\n\nWhy is it so?")
    asks.metadata["gradlab"] = {"kind": "prose"}
    result = SubmissionResult(
        student="ada",
        lab="x",
        points=0,
        worth=1,
        exercises=(GradedCellResult(name="why_so", points=None, by_hand=True, worth=1),),
    )
    added = nbformat.v4.new_code_cell("tried = 1")
    for cells, shown in (([asks, question], False), ([asks, question, added], True)):
        page = render_feedback_page(result, nbformat.v4.new_notebook(cells=cells))
        assert "<p>Not written.</p>" in page
        assert '<h2 id="why_so">In your own words</h2>' in page and ">why_so<" not in page
        assert "Double-click" not in page and "Why is it so?" not in page and "Your answer" not in page
        assert ("Cells that you added" in page) == shown
    question.source = "Because."
    page = render_feedback_page(result, nbformat.v4.new_notebook(cells=[asks, question]))
    assert "Because." in page and "Why is it so?" in page and "Your answer" in page

    question.metadata["gradlab"]["stub"] = f"Why is this so?\n\n{stub}"
    page = render_feedback_page(result, nbformat.v4.new_notebook(cells=[asks, question]))
    assert "Why is this so?" in page and "Why is it so?" not in page
