"""A fault in one student's files affects that student only; a fault of the disk stops everything."""

import errno
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from autograder.authoring.course_folder import build_course, read_course
from autograder.classroom.open_class import grade_lab
from autograder.classroom.regrading import regrade
from autograder.forkserver.client import ForkServerClient
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.result_documents import load_document
from autograder.grading.lab_submission import GradedSubmission
from autograder.grading.task import Task
from autograder.model.assignments import AssignmentKind
from autograder.workers import task_grading
from autograder.workers.executors import LocalExecutor
from tests.classroom.graded_class import LAB, hand_in, read_gradebook_rows


def list_failures(course: Path, executor: LocalExecutor) -> dict[str, str]:
    return {outcome.student: outcome.failure for outcome in grade_lab(open_course(course), LAB, executor)}


def block_folder(course: Path) -> Path:
    """Hand in for three students. A file is where ben's graded notebook should be."""
    hand_in(course, {"ada": None, "ben": None, "cy": None})
    in_the_way = course / "autograded" / "ben"
    in_the_way.parent.mkdir()
    in_the_way.write_text("a file")
    return in_the_way


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_costs_its_student_until_it_can(
    small_course: Path, two_graders: LocalExecutor
) -> None:
    """Slow: a class is graded twice."""
    in_the_way = block_folder(small_course)
    outcomes = list_failures(small_course, two_graders)
    assert {student for student, reason in outcomes.items() if reason} == {"ben"}
    assert "cannot be read or written" in outcomes["ben"]
    assert str(in_the_way) in outcomes["ben"]
    assert sorted(read_gradebook_rows(small_course)) == ["ada", "cy"]
    in_the_way.unlink()
    assert set(list_failures(small_course, two_graders).values()) == {""}
    assert sorted(read_gradebook_rows(small_course)) == ["ada", "ben", "cy"]


@pytest.mark.slow
def test_regrading_writes_the_others_marks_if_one_folder_cannot_be_written(
    small_course: Path, two_graders: LocalExecutor
) -> None:
    """Slow: a class is graded twice."""
    block_folder(small_course)
    list_failures(small_course, two_graders)
    result = regrade(open_course(small_course), LAB, two_graders, lambda _: True)
    assert result.graded == 1
    assert result.written
    assert [student for student, _ in result.failures] == ["ben"]


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="a file system is mounted")
def test_a_full_disk_stops_all(small_course: Path, two_graders: LocalExecutor) -> None:
    """Slow: a submission is graded."""
    hand_in(small_course, {"ada": None})
    full = small_course / "autograded" / "ada"
    full.mkdir(parents=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", full], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        with pytest.raises(OSError) as error:
            list_failures(small_course, two_graders)
    finally:
        subprocess.run(["umount", full], check=True)
    assert error.value.errno == errno.ENOSPC


@pytest.mark.slow
def test_a_file_that_the_machine_cannot_read_leaves_the_mark(
    small_course: Path, two_graders: LocalExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow: a class is graded three times."""
    hand_in(small_course, {"ada": None, "ben": None})
    assert set(list_failures(small_course, two_graders).values()) == {""}
    before, open_file = read_gradebook_rows(small_course), os.open

    def fail(path: Any, *arguments: Any, **keywords: Any) -> int:
        if str(path).endswith(f"submitted/ben/{LAB}/{LAB}.ipynb"):
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(path))
        return open_file(path, *arguments, **keywords)

    with monkeypatch.context() as broken:
        broken.setattr(os, "open", fail)
        outcomes = {
            each.student: each for each in grade_lab(open_course(small_course), LAB, two_graders, include_current=True)
        }
    assert not outcomes["ada"].failure and os.strerror(errno.ESTALE) in outcomes["ben"].failure
    assert read_gradebook_rows(small_course) == before
    assert set(list_failures(small_course, two_graders).values()) == {""}


SOLUTION = "def sum_of_squares(x):\n    return (x * x).sum()\n"
DEEP = ["a" + ".b" * 900, "x = " + "1+" * 900 + "1", "x = " + "-" * 900 + "1", "x = " + "[1," * 90 + "]" * 90]
LONG = "x = [" + "1," * 90_000 + "]" + ".a" * 45


@pytest.mark.slow
def test_a_source_that_is_hard_to_follow_costs_no_one_a_score(small_course: Path, two_graders: LocalExecutor) -> None:
    """Slow: a class is graded."""
    sources = {f"s{number}": f"{SOLUTION}if False:\n    {source}\n" for number, source in enumerate([*DEEP, LONG])}
    hand_in(small_course, {"ada": None, **sources})
    outcomes = list(grade_lab(open_course(small_course), LAB, two_graders))
    assert {each.student for each in outcomes} == {"ada", *sources}
    assert not any(each.failure or each.remarks for each in outcomes)
    rows = read_gradebook_rows(small_course)
    assert {student: row[1] for student, row in rows.items()} == dict.fromkeys(rows, rows["ada"][1])


@pytest.mark.slow
def test_an_error_of_the_grader_is_an_empty_notebook_unless_this_one_has_a_mark(
    small_course: Path, two_graders: LocalExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow: a class is graded three times."""
    hand_in(small_course, {"ada": None, "ben": SOLUTION})
    assert set(list_failures(small_course, two_graders).values()) == {""}
    real = task_grading.grade_lab_task

    def raise_for_what_is_written(task: Task, fork_server: ForkServerClient) -> GradedSubmission:
        if task.notebooks[0].content is not None:
            raise RecursionError("too deep")
        return real(task, fork_server)

    monkeypatch.setitem(task_grading.GRADERS, AssignmentKind.LAB, raise_for_what_is_written)
    hand_in(small_course, {"ben": SOLUTION.replace("x * x", "x ** 2"), "cy": SOLUTION})
    before = read_gradebook_rows(small_course)
    outcomes = {each.student: each for each in grade_lab(open_course(small_course), LAB, include_current=True)}
    assert "its mark was not changed" in outcomes["ada"].failure
    assert read_gradebook_rows(small_course)["ada"] == before["ada"]
    for student in ("ben", "cy"):
        assert not outcomes[student].failure
        assert outcomes[student].unreadable
        assert "RecursionError: too deep" in outcomes[student].remarks[0]
        assert read_gradebook_rows(small_course)[student][1] == 0


FILLS = """
with check("a_lot", "as many letters as it says"):
    assert len("x" * int(sum_of_squares(torch.tensor([1.0])))) == 1
"""


@pytest.mark.slow
def test_a_check_that_would_fill_the_graders_memory_fails(small_course: Path, two_graders: LocalExecutor) -> None:
    """Slow: a class is graded."""
    exercise = small_course / "labs" / LAB / "exercises" / "sum_of_squares.py"
    text = exercise.read_text()
    text = text.replace("# It may be empty -> empty\n", "# It may be empty -> empty, a_lot\n")
    exercise.write_text(text.replace("# %% hidden checks\n", f"# %% hidden checks\n{FILLS}", 1))
    build_course(read_course(small_course))
    hand_in(small_course, {"ada": None, "ben": "def sum_of_squares(x):\n    return (x * x).sum() * 2**33\n"})
    outcomes = list(grade_lab(open_course(small_course), LAB, two_graders))
    assert not any(each.failure or each.remarks for each in outcomes)
    result = load_document(small_course, LAB, "ben")
    assert result is not None
    (outcome,) = [outcome for cell in result.cells for outcome in cell.checks if outcome.id == "a_lot"]
    assert "MemoryError" in outcome.error
