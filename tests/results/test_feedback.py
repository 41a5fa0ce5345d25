"""Feedback pages: useful to the student, and without a line of a hidden check."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.build.notebooks import source_notebook
from autograder.build.regions import HIDDEN
from autograder.course import Lab
from autograder.prove.answers import read_answers
from autograder.prove.trial import benches
from autograder.result import CheckOutcome
from autograder.results.feedback import write_feedback
from autograder.results.gradebook import check_result
from autograder.results.schema import CheckResult, ExerciseResult, SubmissionResult
from autograder.submission.repair import as_released
from tests.build.test_notebooks import secret_lines
from tests.conftest import NIGHTLY

RAISED: dict[str, Any] = {
    "label": "a",
    "weight": 1,
    "passed": False,
    "seen": "raised ValueError: secret 7",
    "error": "ValueError",
}


def test_of_a_hidden_check_only_the_type_of_an_exception_is_told() -> None:
    assert check_result(CheckOutcome(hidden=True, **RAISED)).seen == "your code raised ValueError"
    assert "secret" in check_result(CheckOutcome(hidden=False, **RAISED)).seen


@pytest.mark.slow
def test_no_line_of_a_hidden_check_stands_on_any_page(labs: list[Lab], tmp_path: Path) -> None:
    """Slow: tries an empty and a wrong answer of every exercise, in `make nightly` of every lab."""
    for lab in labs if NIGHTLY else labs[::4]:
        answers, _ = read_answers(lab)
        notebook = source_notebook(lab)
        notebook.cells = [as_released(cell) for cell in notebook.cells]
        for student in ("blank", "wrong"):
            exercises = []
            for bench in benches(lab):
                wrong = next(a for a in answers if a.exercise == bench.exercise.name and not a.right)
                trial = bench.try_blank() if student == "blank" else bench.try_source(wrong.source)
                hidden = {c.label for c in bench.exercise.checks if c.hidden}
                checks = tuple(
                    check_result(CheckOutcome(hidden=o.label in hidden, **o.as_dict())) for o in trial.outcomes
                )
                assert len(checks) == len(bench.exercise.checks)
                name, worth = bench.exercise.name, bench.exercise.points
                exercises.append(ExerciseResult(name=name, points=trial.points, worth=worth, checks=checks))
            place = tmp_path / "autograded" / student / lab.name / f"{lab.name}.ipynb"
            place.parent.mkdir(parents=True)
            nbformat.write(notebook, place)
            result = SubmissionResult(student=student, lab=lab.name, points=1, worth=2, exercises=tuple(exercises))
            (page,) = write_feedback([result], tmp_path, lab.name)
            shown = {line.strip() for line in html.unescape(page.read_text()).splitlines()}
            secrets = secret_lines(lab, HIDDEN)
            assert len(secrets) > 100
            assert not secrets & shown


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
    exercise = ExerciseResult(
        name="f", points=1, worth=2, comment="well done", checks=(CheckResult(label="a", passed=False, hint="why?"),)
    )
    result = SubmissionResult(student="ada", lab="x", points=1, worth=2, exercises=(exercise,), notes=("put back",))
    (page,) = write_feedback([result], tmp_path, "x")
    text = page.read_text()
    for shown in ("helper = 1", "well done", "put back", "hint: why?", "ValueError: own mistake", "1 of 2 points"):
        assert shown in text
    assert "secret" not in text
    assert "<script" not in text
    assert '"onerror' not in text
    assert (page.parent / "timestamp.txt").read_text() == "now"


def test_a_submission_without_an_autograded_notebook_has_no_page(tmp_path: Path) -> None:
    assert write_feedback([SubmissionResult(student="a", lab="x", points=0, worth=1)], tmp_path, "x") == []
