"""A grading that was killed continues from where it stopped: nothing is lost, and nothing is graded twice."""

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from autograder.authoring.course_folder import build_course, read_course
from autograder.base.device import Device, DeviceChoice
from autograder.base.errors import GradlabError
from autograder.classroom import lab_lock
from autograder.classroom.lab_lock import lock_lab
from autograder.classroom.open_class import grade_lab
from autograder.classroom.summary import describe_regraded
from autograder.cli import main
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.result_documents import get_result_path
from autograder.grading import lab_submission as one_submission
from autograder.grading.task import Task
from autograder.model import fingerprint
from autograder.model.fingerprint import get_versions
from autograder.workers.executors import LocalExecutor, choose_device
from autograder.workers.task_grading import TaskResult
from tests.classroom.graded_class import (
    FOR_EVER,
    LAB,
    SLOWLY,
    WRONG,
    be_patient,
    hand_in,
    read_gradebook_rows,
    read_written_files,
)
from tests.classroom.processes import list_children, start_python, wait_for

pytestmark = pytest.mark.gate

STUDENTS = {f"student_{n:02}": WRONG if n % 3 == 0 else None for n in range(8)}
GRADE_AND_KILL = """
import sys

import psutil

from autograder.classroom import class_grader
from autograder.cli import main

victim, name, moment, last_call = *sys.argv[1:4], int(sys.argv[4])
sys.argv[1:5] = []
function, calls = getattr(class_grader, name), 0


def kill():
    grader = psutil.Process()
    servers = [child for child in grader.children() if "autograder.forkserver.server" in child.cmdline()]
    workers = [child for child in grader.children() if child not in servers]
    {"grader": [grader], "fork server": servers, "worker": workers}[victim][-1].kill()


def call_and_kill(*args, **options):
    global calls
    calls += 1
    if calls == last_call and moment == "before":
        kill()
    result = function(*args, **options)
    if calls == last_call and moment == "after":
        kill()
    return result


setattr(class_grader, name, call_and_kill)
main()
"""
KILLS = [  # before or after which call of a function of class_grader.py
    ("write_document", "before", 2),
    *(
        pytest.param(*kill, marks=pytest.mark.nightly)
        for kill in (
            ("write_autograded", "before", 1),
            ("write_autograded", "after", 3),
            ("write_document", "before", 8),
            ("write_document", "after", 1),
            ("write_document", "after", 5),
            ("write_marks", "before", 1),
            ("write_marks", "after", 1),
        )
    ),
]


def grade_class(course: Path, executor: LocalExecutor) -> dict[str, bool]:
    """student -> whether the submission had been graded before."""
    outcomes = list(grade_lab(open_course(course), LAB, executor))
    assert not any(each.failure for each in outcomes)
    return {each.student: each.kept for each in outcomes}


def start(course: Path, program: Sequence[str] = ("-m", "autograder.cli")) -> subprocess.Popen[str]:
    return start_python(course, *program, "grade", LAB, "--jobs", "2")


def list_documents(course: Path) -> list[str]:
    paths = (course / "results" / LAB).glob("[!.]*.json")
    return sorted(path.stem for path in paths)


@pytest.fixture(scope="module")
def submitted_class(built_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course in which no one is graded yet."""
    course = Path(shutil.copytree(built_course, tmp_path_factory.mktemp("copies") / "submitted_work"))
    hand_in(course, STUDENTS, SLOWLY)
    return course


@pytest.fixture(scope="module")
def undisturbed_class(submitted_class: Path, two_graders: LocalExecutor) -> Path:
    """The same course graded in one go, shared by all tests that compare with it or continue from it."""
    course = Path(shutil.copytree(submitted_class, submitted_class.parent / "undisturbed"))
    assert not any(grade_class(course, two_graders).values())
    return course


@pytest.mark.slow
@pytest.mark.parametrize(("name", "moment", "number"), KILLS)
def test_a_grading_that_was_killed_is_continued_and_ends_as_an_undisturbed_one(
    name: str,
    moment: str,
    number: int,
    submitted_class: Path,
    undisturbed_class: Path,
    two_graders: LocalExecutor,
    tmp_path: Path,
) -> None:
    """Slow: a class is graded again."""
    course = Path(shutil.copytree(submitted_class, tmp_path / "course"))
    running = start(course, ("-c", GRADE_AND_KILL, "grader", name, moment, str(number)))
    output = running.communicate()[0]
    assert running.returncode == -signal.SIGKILL, output
    before = list_documents(course)
    assert grade_class(course, two_graders) == {student: student in before for student in STUDENTS}, output
    assert_graded_alike(course, undisturbed_class)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("number", [1, 2, 4, 6])
@pytest.mark.parametrize("victim", ["worker", "fork server"])
def test_a_grading_that_loses_a_process_ends_as_an_undisturbed_one(
    victim: str,
    number: int,
    submitted_class: Path,
    undisturbed_class: Path,
    two_graders: LocalExecutor,
    tmp_path: Path,
) -> None:
    """Slow: a class is graded again. By day, test_pool.py ends workers, and test_fork_server.py fork servers."""
    course = Path(shutil.copytree(submitted_class, tmp_path / "course"))
    running = start(course, ("-c", GRADE_AND_KILL, victim, "write_document", "before", str(number)))
    output = running.communicate()[0]
    assert running.returncode == 0 and len(list_documents(course)) == len(STUDENTS), output
    assert set(grade_class(course, two_graders).values()) == {True}, output
    assert_graded_alike(course, undisturbed_class)


def assert_graded_alike(course: Path, other: Path) -> None:
    assert read_gradebook_rows(course) == read_gradebook_rows(other)
    assert read_written_files(course) == read_written_files(other)


@pytest.mark.slow
def test_ctrl_c_finishes_what_is_being_written_and_says_how_to_go_on(
    submitted_class: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Slow: a class is graded."""
    course = Path(shutil.copytree(submitted_class, tmp_path / "course"))
    be_patient(course)
    last = list(STUDENTS)[-2:]
    hand_in(course, dict.fromkeys(last), FOR_EVER)
    running = start(course)
    wait_for(lambda: list_documents(course), running)
    fork_server = [pid for pid, command in list_children(running.pid) if "forkserver.server" in command]
    running.send_signal(signal.SIGINT)
    output = running.communicate()[0]
    assert running.returncode == 1, output
    assert "run the same command to continue" in output, output
    assert "Traceback" not in output, output
    before = list_documents(course)
    assert sorted(read_gradebook_rows(course)) == before
    hand_in(course, dict.fromkeys(last))
    monkeypatch.chdir(course)
    monkeypatch.setattr(sys, "argv", ["gradlab", "grade", LAB, "--jobs", "2"])
    with pytest.raises(SystemExit):
        main()
    assert f"{LAB}: {8 - len(before)} graded; {len(before)} kept." in capsys.readouterr().out
    assert fork_server
    assert not any(Path(f"/proc/{pid}").exists() for pid in fork_server)


def test_two_gradings_of_a_lab_do_not_run_at_once(small_course: Path) -> None:
    with lock_lab(small_course, LAB), pytest.raises(GradlabError, match="another gradlab is grading"):
        code = f"from autograder.classroom.lab_lock import lock_lab; from pathlib import Path\nwith lock_lab(Path('.'), {LAB!r}): pass"
        process = subprocess.run([sys.executable, "-c", code], cwd=small_course, capture_output=True, text=True)
        raise GradlabError(process.stderr)
    with lock_lab(small_course, LAB):
        pass


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EAGAIN, "another gradlab is grading"),
        (errno.EACCES, "another gradlab is grading"),
        (errno.ENOLCK, "can't be locked: .*No locks"),
    ],
)
def test_only_a_lock_that_is_held_is_reported_as_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    monkeypatch.setattr(lab_lock.fcntl, "lockf", raise_error(OSError(number, os.strerror(number))))
    with pytest.raises(GradlabError, match=words), lock_lab(tmp_path, LAB):
        pass


def test_a_second_grading_renames_no_folder(small_course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = small_course / "submitted" / "a\nb"
    folder.mkdir(parents=True)
    monkeypatch.setattr(lab_lock.fcntl, "lockf", raise_error(BlockingIOError(errno.EAGAIN, "held")))
    with pytest.raises(GradlabError, match="another gradlab is grading"):
        list(grade_lab(open_course(small_course), LAB))
    assert folder.exists()


def raise_error(error: Exception) -> Callable[..., None]:
    def raise_it(*_: Any) -> None:
        raise error

    return raise_it


class LosingExecutor(LocalExecutor):
    """This machine, but it loses one submission."""

    def grade(self, *arguments: Any) -> Iterator[tuple[Task, TaskResult]]:
        return (each for each in super().grade(*arguments) if each[0].student != "student_lost")


@pytest.mark.slow
def test_only_changed_submissions_are_graded_again_and_lost_ones_are_reported(
    undisturbed_class: Path, two_graders: LocalExecutor, tmp_path: Path
) -> None:
    """Slow: a class is graded twice more."""
    course = Path(shutil.copytree(undisturbed_class, tmp_path / "course"))
    assert set(grade_class(course, two_graders).values()) == {True}

    document = get_result_path(course, LAB, "student_03")
    document.write_text(
        re.sub(r'"made_of": \{.*?\}', '"made_of": {}', document.read_text(), flags=re.S).replace(
            '"key": "', '"key": "0', 1
        )
    )
    hand_in(course, {"student_01": WRONG, "student_lost": None})
    losing = LosingExecutor(2, pool=two_graders.pool)
    outcomes = {each.student: each for each in grade_lab(open_course(course), LAB, losing)}
    assert outcomes.pop("student_lost").failure == "no result was returned: run the same command again"
    assert not any(each.failure for each in outcomes.values())
    reasons = {student: each.regrade_reasons for student, each in outcomes.items() if not each.kept}
    assert reasons == {"student_01": ("the submission changed",), "student_03": ("an earlier Gradlab graded it",)}


@pytest.mark.slow
def test_all_submissions_are_graded_again_if_the_lab_or_torch_changed(
    undisturbed_class: Path, two_graders: LocalExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow: a class is graded again."""
    course = Path(shutil.copytree(undisturbed_class, tmp_path / "course"))
    lab = course / "labs" / LAB / "lab.py"
    lab.write_text(lab.read_text().replace("points=2", "points=3"))
    build_course(read_course(course))
    monkeypatch.setattr(fingerprint, "get_versions", lambda: get_versions().model_copy(update={"torch": "1.0"}))
    submissions = list(grade_lab(open_course(course), LAB, two_graders))
    assert {each.regrade_reasons for each in submissions} == {("torch changed", "the lab changed")}
    assert describe_regraded(submissions) == "8 graded again: torch changed (8), the lab changed (8)"
    assert read_gradebook_rows(course)["student_02"][1] == 3


@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="there is a GPU")
def test_a_device_that_is_not_here_is_refused() -> None:
    assert choose_device(DeviceChoice.AUTO) == choose_device(DeviceChoice.CPU) == Device.CPU
    with pytest.raises(GradlabError, match="no GPU"):
        choose_device(DeviceChoice.CUDA)


def test_a_check_that_did_not_change_is_not_examined_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """If one of a lab's two check cells changes, the other keeps its outcome."""
    checks = {"check-a": "a's check", "check-b": "b's check"}
    notebook = make_grading_notebook(checks)
    requests: list[list[str]] = []

    def examine_steps(steps, *_):  # type: ignore[no-untyped-def]
        requests.append([step.id for step in steps if step.kind == "check"])
        return {step.id: one_submission.StepResult() for step in steps}

    monkeypatch.setattr(one_submission, "examine_steps", examine_steps)
    fork_server = type("NoWarm", (), {"layers": (), "start_process": None})
    first = one_submission.grade_notebook(
        notebook, one_submission.SubmissionFacts("lab", "ada"), fork_server, one_submission.Timeouts()
    )  # type: ignore[arg-type]
    submission = one_submission.SubmissionFacts("lab", "ada", earlier_cells=first.cells)
    changed_notebook = make_grading_notebook(checks | {"check-b": "another check"})
    one_submission.grade_notebook(changed_notebook, submission, fork_server, one_submission.Timeouts())  # type: ignore[arg-type]
    changed_notebook = make_grading_notebook(checks, answer="another answer")
    one_submission.grade_notebook(changed_notebook, submission, fork_server, one_submission.Timeouts())  # type: ignore[arg-type]
    assert requests == [["check-a", "check-b"], ["check-b"], ["check-a", "check-b"]]


def make_grading_notebook(checks: dict[str, str], answer: str = "an answer"):  # type: ignore[no-untyped-def]
    import nbformat

    flags = {"grade": True, "solution": False, "locked": True, "points": 1, "schema_version": 3}
    cells = [nbformat.v4.new_code_cell(answer, id="answer")]
    for name, source in checks.items():
        cells.append(
            nbformat.v4.new_code_cell(
                source, metadata={"nbgrader": flags | {"grade_id": name}, "gradlab": {"kind": "check", "points": 1}}
            )
        )
    return nbformat.v4.new_notebook(cells=cells)
