"""Feedback pages: useful to the student, and without a line of a hidden check."""

import base64
import html
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.authoring.notebooks import source_notebook
from autograder.authoring.regions import HIDDEN
from autograder.course import Lab
from autograder.gradebook.schema import ExerciseResult, SubmissionResult
from autograder.intake.repair import as_released
from autograder.proving.bench import benches
from autograder.reports.feedback import own_cells, write_feedback
from autograder.reports.student_view import shown, student_view
from labkit.outcome import Outcome
from tests.authoring.test_notebooks import secret_lines
from tests.conftest import NIGHTLY

RAISED: dict[str, Any] = {
    "id": "a",
    "label": "a",
    "weight": 1,
    "passed": False,
    "seen": "raised ValueError: secret 7",
    "error": "ValueError",
}


def test_from_the_first_hidden_check_on_only_the_type_of_an_exception_is_told() -> None:
    """In visible checks too: what a student's code keeps of a hidden check, it could say in a later one."""
    visible, hidden = Outcome(**RAISED), Outcome(**RAISED, hidden=True)
    exercises = [
        ExerciseResult(name=name, points=0, worth=1, checks=(visible, hidden, visible)) for name in ("first", "second")
    ]
    told = student_view(exercises)
    first, second, third = (check.seen for check in told["first"])
    assert first == "raised ValueError: secret 7"
    assert second == "your code raised ValueError"
    assert third.startswith("your code raised ValueError. ") and "secret" not in third
    assert not any("secret" in check.seen for check in told["second"])


def test_an_exercise_that_is_not_written_is_called_so() -> None:
    unwritten = {"error": "NotImplementedError", "seen": "This exercise is not written yet.", "blame": "student"}
    check = Outcome(hidden=True, **{**RAISED, **unwritten})
    assert shown(check, after_hidden=True).seen == "This exercise is not written yet."


def test_a_message_about_the_own_result_holds_few_digits() -> None:
    long = f"your result has shape ({', '.join(['1234567'] * 60)})"
    check = Outcome(hidden=True, **{**RAISED, "error": "", "seen": long})
    seen = shown(check, after_hidden=True).seen
    assert seen.startswith("your result has shape (1234567, 1234567") and seen.endswith(" ...") and len(seen) < 80
    assert shown(check, after_hidden=False).seen == long


@pytest.mark.slow
def test_no_line_of_a_hidden_check_stands_on_any_page(labs: list[Lab], tmp_path: Path) -> None:
    """Slow: tries an empty and a wrong answer of every exercise, in `make nightly` of every lab."""
    for lab in labs if NIGHTLY else labs[:1]:
        notebook = source_notebook(lab)
        notebook.cells = [as_released(cell) for cell in notebook.cells]
        for student in ("blank", "wrong"):
            exercises = []
            for bench in benches(lab):
                wrong = next(answer for answer in bench.exercise.answers if not answer.right)
                trial = bench.try_blank() if student == "blank" else bench.try_source(wrong.source)
                hidden = {c.id for c in bench.exercise.checks if c.hidden}
                checks = tuple(replace(outcome, hidden=outcome.id in hidden) for outcome in trial.outcomes)
                assert len(checks) == len(bench.exercise.checks)
                name, worth = bench.exercise.name, bench.exercise.points
                exercises.append(ExerciseResult(name=name, points=trial.points, worth=worth, checks=checks))
            place = tmp_path / "autograded" / student / lab.name / f"{lab.name}.ipynb"
            place.parent.mkdir(parents=True)
            nbformat.write(notebook, place)
            result = SubmissionResult(student=student, lab=lab.name, points=1, worth=2, exercises=tuple(exercises))
            (page,) = write_feedback([result], tmp_path, lab.name)
            lines = {line.strip() for line in html.unescape(page.read_text()).splitlines()}
            secrets = secret_lines(lab, HIDDEN)
            assert len(secrets) > 100
            assert not secrets & lines


def test_own_code_output_comments_and_notes_are_shown_and_escaped(tmp_path: Path) -> None:
    cell = nbformat.v4.new_code_cell("print('<b>')", metadata={"nbgrader": {"grade_id": "exercise-f"}})
    cell.outputs = [
        nbformat.v4.new_output("stream", name="stdout", text="<script>alert(1)</script>"),
        nbformat.v4.new_output("display_data", {"image/png": 'AAAA"onerror="x', "text/plain": "picture"}),
        nbformat.v4.new_output("error", ename="ValueError", evalue="own mistake", traceback=["x"]),
    ]
    added = nbformat.v4.new_code_cell("helper = 1")
    other = nbformat.v4.new_code_cell("secret = 1", metadata={"nbgrader": {"grade_id": "check-f"}})
    after = nbformat.v4.new_code_cell("after = 1")
    place = tmp_path / "autograded" / "ada" / "x" / "x.ipynb"
    place.parent.mkdir(parents=True)
    (place.parent / "timestamp.txt").write_text("now")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell, added, other, after]), place)
    exercise = ExerciseResult(name="f", points=1, worth=2, comment="well done", checks=(Outcome("a", hint="why?"),))
    result = SubmissionResult(student="ada", lab="x", points=1, worth=2, exercises=(exercise,), notes=("put back",))
    (page,) = write_feedback([result], tmp_path, "x")
    text = page.read_text()
    for text_shown in ("helper = 1", "well done", "put back", "hint: why?", "ValueError: own mistake", "1 of 2 points"):
        assert text_shown in text
    assert "secret" not in text
    assert "<script" not in text
    assert '"onerror' not in text
    assert (page.parent / "timestamp.txt").read_text() == "now"


def test_a_submission_without_an_autograded_notebook_has_no_page(tmp_path: Path) -> None:
    assert write_feedback([SubmissionResult(student="a", lab="x", points=0, worth=1)], tmp_path, "x") == []


def test_a_picture_that_would_fill_a_browser_is_left_out(tmp_path: Path) -> None:
    def png(width: int, height: int) -> str:
        head = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big")
        return base64.b64encode(head + bytes(40)).decode()

    cell = nbformat.v4.new_code_cell("f()", metadata={"nbgrader": {"grade_id": "exercise-f"}})
    for size in ((300, 200), (30_000, 20_000)):
        cell.outputs.append(nbformat.v4.new_output("display_data", {"image/png": png(*size)}))
    (shown,) = own_cells(nbformat.v4.new_notebook(cells=[cell]), ExerciseResult(name="f", points=1, worth=1))
    assert len(shown.pictures) == 1 and "600,000,000 pixels" in shown.text
