"""The pool: workers that die or hang cost one submission a second try, and tasks are taken only when one is free."""

import os
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from autograder.base.stop_request import StopRequest
from autograder.examiner.time_budget import Timeouts
from autograder.forkserver import client
from autograder.forkserver.client import ForkServerClient
from autograder.forkserver.server_process import start_fork_server_process
from autograder.grading.lab_submission import GradedSubmission
from autograder.grading.task import GradingSettings, NotebookFile, Task
from autograder.model.assignments import AssignmentKind
from autograder.model.marks import MarkSheet
from autograder.model.notes import Note
from autograder.model.result import ResultDocument
from autograder.model.versions import Versions
from autograder.sandbox import find_layers, find_strongest_level
from autograder.workers import pool, task_grading
from autograder.workers.pool import grade_all
from autograder.workers.task_grading import UNGRADABLE, GradingFailure, TaskResult, take_tasks
from tests.classroom.processes import list_children

COURSE = b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
SETTINGS = GradingSettings(find_strongest_level(find_layers()), timeouts=Timeouts(submission=900))


@pytest.fixture(autouse=True)
def light_fork_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing runs in a fork server here, and one without imports starts in half the time."""
    monkeypatch.setattr(client, "start_fork_server_process", partial(start_fork_server_process, groups=()))


def make_task(student: str) -> Task:
    return Task("lab", student, (NotebookFile("lab", b"{}"),), COURSE, SETTINGS)


def grade_lab_task(task: Task, fork_server: ForkServerClient) -> GradedSubmission:
    """Replaces the real one: does to its process what the student's name says, and reports its pid as a note."""
    if task.student == "dies always" or (task.student == "dies" and task.notebooks[0].content is not None):
        os.kill(os.getpid(), signal.SIGKILL)
    if task.student == "hangs" and task.notebooks[0].content is not None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(36000)
    if task.student == "raises":
        raise ValueError("an error of the course")
    if task.student == "raises for what it wrote" and task.notebooks[0].content is not None:
        raise RecursionError("too deep")
    versions = Versions(gradlab="0", python="3", torch="2")
    notes = tuple(Note(words=words) for words in (task.notebooks[0].refusal, str(os.getpid())))
    result = ResultDocument(lab="lab", student=task.student, versions=versions, isolation=(), notes=notes, cells=())
    return GradedSubmission(result, MarkSheet(task.student, {}), {})


def grade_students(monkeypatch: pytest.MonkeyPatch, *students: str) -> dict[str, TaskResult]:
    """Grade with two workers, which are forks of this process and therefore run the replacement for grading."""
    monkeypatch.setitem(task_grading.GRADERS, AssignmentKind.LAB, grade_lab_task)
    monkeypatch.setattr(
        pool, "is_stuck", lambda busy, _: busy.task.student == "hangs" and busy.task.notebooks[0].content
    )
    outcomes = grade_all(map(make_task, students), SETTINGS, 2, (), StopRequest())
    return {each.student: outcome for each, outcome in outcomes}


def test_a_submission_that_ends_its_grader_twice_is_graded_as_an_empty_notebook(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outcomes = grade_students(monkeypatch, "ada", "dies", "hangs", "ben", "cleo")
    assert outcomes.keys() == {"ada", "dies", "hangs", "ben", "cleo"}
    for student, outcome in outcomes.items():
        assert isinstance(outcome, GradedSubmission)
        assert outcome.result.notes[0].words == (UNGRADABLE if student in ("dies", "hangs") else "")


def test_a_grader_is_stuck_when_it_takes_longer_than_a_submission_and_its_own_work_may() -> None:
    busy = pool.Worker(None, None, make_task("hangs"), since=time.monotonic())  # type: ignore[arg-type]
    assert not pool.is_stuck(busy, 900)
    busy.since -= 900
    assert not pool.is_stuck(busy, 900)
    busy.since -= task_grading.STUCK_SECONDS
    assert pool.is_stuck(busy, 900)


def test_a_submission_that_ends_its_grader_even_then_is_reported_and_the_others_are_graded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outcomes = grade_students(monkeypatch, "dies always", "raises", "ada", "ben")
    assert isinstance(outcomes["dies always"], GradingFailure) and "ended 3 times" in outcomes["dies always"].reason
    assert isinstance(outcomes["raises"], GradingFailure) and "an error of the course" in outcomes["raises"].reason
    assert isinstance(outcomes["ada"], GradedSubmission) and isinstance(outcomes["ben"], GradedSubmission)


def test_a_submission_that_makes_the_grader_raise_is_graded_as_an_empty_notebook_with_the_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outcomes = grade_students(monkeypatch, "raises for what it wrote", "ada")
    hostile, ada = outcomes["raises for what it wrote"], outcomes["ada"]
    assert isinstance(hostile, GradedSubmission) and isinstance(ada, GradedSubmission)
    assert hostile.result.notes[0].words == UNGRADABLE
    assert "RecursionError: too deep" in hostile.problem and not ada.problem


def test_no_more_tasks_are_held_than_there_are_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(task_grading.GRADERS, AssignmentKind.LAB, grade_lab_task)
    taken_count = done_count = 0

    def tasks() -> Iterator[Task]:
        nonlocal taken_count
        for number in range(12):
            taken_count += 1
            assert taken_count - done_count <= 2 + 2, "tasks in progress, and tasks just returned"
            yield make_task(str(number))

    pids = set()
    for _, outcome in grade_all(tasks(), SETTINGS, 2, (), StopRequest()):
        done_count += 1
        assert isinstance(outcome, GradedSubmission)
        pids.add(outcome.result.notes[1].words)
    assert done_count == 12
    assert 1 <= len(pids) <= 2
    assert str(os.getpid()) not in pids


def test_tasks_are_taken_up_to_none_and_later_after_it() -> None:
    ada, ben, cleo = map(make_task, ("ada", "ben", "cleo"))
    tasks = iter([ada, ben, None, cleo])
    assert list(take_tasks(tasks, 1)) == [ada]
    assert list(take_tasks(tasks, 3)) == [ben]
    assert list(take_tasks(tasks, 3)) == [cleo]
    assert list(take_tasks(tasks, 3)) == []


def test_an_empty_class_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "start_fork_servers", None)
    assert list(grade_all(iter(()), SETTINGS, 2, (Path("/nowhere"),), StopRequest())) == []


def test_a_pool_that_is_stopped_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(task_grading.GRADERS, AssignmentKind.LAB, grade_lab_task)
    before = list_fork_servers()
    stop = StopRequest()
    running = grade_all(map(make_task, ("ada", "ben", "hangs", "hangs")), SETTINGS, 2, (), stop)
    next(running)
    stop.set()
    list(running)
    assert list_fork_servers() == before


def list_fork_servers() -> list[int]:
    return sorted(pid for pid, command in list_children(os.getpid()) if "forkserver.server" in command)
