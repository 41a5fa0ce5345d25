"""`pytest labs/NAME -k EXERCISE` proves an exercise, with a test for each of its answers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXERCISE = Path("labs", "01_squares", "exercises", "sum_of_squares.py")


def run_pytest(folder: Path, *arguments: str, status: int = 0) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    assert (process.returncode, process.stderr) == (status, ""), process.stdout + process.stderr
    return process.stdout


@pytest.fixture
def lab(course_without_gradebook: Path, tmp_path: Path) -> Path:
    """A course of one lab."""
    for name in ("labs/course.toml", "labs/01_squares/lab.py", str(EXERCISE)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((course_without_gradebook / name).read_text())
    return tmp_path


def test_every_answer_is_a_test_that_is_named_for_what_it_shows(lab: Path) -> None:
    lines = run_pytest(lab, "labs/01_squares", "-k", "sum_of_squares", "--collect-only").splitlines()
    names = [line.partition("::")[2] for line in lines if "::" in line]
    assert names[0] == "checks: reference, empty, generated and lying answers"
    assert [name.partition(":")[0] for name in names[1:]] == ["right"] * 2 + ["wrong"] * 4
    assert "wrong: the square of the sum" in names


@pytest.mark.nightly  # by day tests/proving/test_judgement.py proves it
def test_a_correct_exercise_is_proved(lab: Path) -> None:
    assert "7 passed" in run_pytest(lab, "labs")


def test_a_failure_says_where_and_what_the_answer_earned_without_a_traceback(lab: Path) -> None:
    path = lab / EXERCISE
    text = path.read_text()
    path.write_text(
        text.replace('# %% wrong "a mean of squares" fails=example,shapes,empty', '# %% right "a mean of squares"')
    )
    output = run_pytest(lab, "labs/01_squares", "-k", "mean", status=1)
    line = text[: text.index('# %% wrong "a mean of squares"')].count("\n") + 1
    assert f"{path}:{line}: a mean of squares: it earned 0 of 2 points, and should earn all" in output
    assert "example: " in output and "fix: correct the check that rejects it, or the answer" in output
    assert "1 failed, 6 deselected" in output
    assert "Traceback" not in output
    assert "def " not in output


@pytest.mark.nightly  # by day tests/proving/test_judgement.py tries the same rule
def test_an_edge_that_no_check_notices_is_a_failure(lab: Path) -> None:
    text = (lab / EXERCISE).read_text()
    (lab / EXERCISE).write_text(text.replace('"float64", "transposed")\nwith', '"float64")\nwith'))
    output = run_pytest(lab, "labs/01_squares", "-k", "checks", status=1)
    assert 'wrong with "transposed", gets full marks' in output


def test_a_mistake_in_the_source_is_named_by_its_line(lab: Path) -> None:
    path = lab / EXERCISE
    before, header, after = path.read_text().partition('# %% wrong "a mean of squares"')
    path.write_text(f"{before}{header.replace(chr(34), '')}{after}")
    output = run_pytest(lab, "labs", status=2)
    line = before.count("\n") + 1
    assert f"{path}:{line}: " in output and "Traceback" not in output


def test_no_other_run_of_pytest_is_changed(tmp_path: Path) -> None:
    folder = tmp_path / "labs" / "a" / "exercises"
    folder.mkdir(parents=True)
    (folder / "ex.py").write_text("raise AssertionError('no test, and not imported')\n")
    (folder.parent / "lab.py").write_text("")
    names = "{'torch', 'autograder.model.course', 'concurrent.futures.process'}"
    (tmp_path / "test_a.py").write_text(f"import sys\n\ndef test_a():\n    assert not {names} & sys.modules.keys()\n")
    assert "1 passed" in run_pytest(tmp_path, "-p", "no:randomly", ".")
