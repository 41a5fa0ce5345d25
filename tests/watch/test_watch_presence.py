"""Whether a watch runs is visible from its lock, and what it hasn't marked from the exchange, also when it's killed."""

import os
import signal
from datetime import datetime
from pathlib import Path

import pytest

from autograder.base.errors import GradlabError
from autograder.gradebook.history import read_history
from autograder.gradebook.nbgrader_course import open_course
from autograder.model.term import TERM_FILE
from autograder.watch.watch_presence import WatchPresence, WatchSigns, read_watch_signs
from autograder.watch.watch_queue import WatchQueue, read_queue
from tests.classroom.graded_class import LAB
from tests.classroom.processes import start_python, wait_for
from tests.watch.watched_exchange import ONE, TWO, add_exchange, read_scores, start, submit

FIRST = datetime(2026, 2, 1, 10, 1)
HOLD = "import sys; from pathlib import Path; from autograder.watch.watch_presence import WatchPresence; p = WatchPresence(Path(sys.argv[1])); p.record_look(); print('held', flush=True); sys.stdin.read()"


@pytest.fixture
def course(small_course: Path) -> Path:
    return add_exchange(small_course)


def test_a_course_without_a_watch_has_no_signs_of_one(course: Path) -> None:
    assert read_watch_signs(course) == WatchSigns(False, None)


def test_a_watch_in_another_process_shows_until_it_ends(course: Path) -> None:
    process = start_python(course, "-c", HOLD, str(course))
    assert process.stdout and process.stdout.readline() == "held\n"
    signs = read_watch_signs(course)
    assert signs.is_running and signs.last_look
    assert read_watch_signs(course) == signs, "looking doesn't take the lock"
    process.kill()
    process.communicate()
    assert read_watch_signs(course) == WatchSigns(False, signs.last_look)


def test_a_second_watch_takes_over_the_sign_of_the_first(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograder.watch.watch_presence.BEAT_SECONDS", 0.0)
    process = start_python(course, "-c", HOLD, str(course))
    assert process.stdout and process.stdout.readline() == "held\n"
    second = WatchPresence(course)
    second.record_look()
    process.kill()
    process.communicate()
    second.record_look()
    other = start_python(
        course,
        "-c",
        f"from pathlib import Path; from autograder.watch.watch_presence import read_watch_signs; print(read_watch_signs(Path({str(course)!r})).is_running)",
    )
    assert other.communicate()[0] == "True\n"
    second.close()


def test_the_reason_why_nothing_is_marked_shows_until_a_mark_or_another_watch(course: Path) -> None:
    for ends_by_mark in (True, False):
        presence = WatchPresence(course)
        presence.record_look()
        assert read_watch_signs(course).problem == ""
        for problem in ("the disk is full", "it's locked"):
            presence.record_problem(problem)
            assert read_watch_signs(course).problem == problem
        if ends_by_mark:
            presence.record_problem("")
            assert read_watch_signs(course).problem == ""
        presence.close()


def test_submissions_without_a_mark_wait_and_the_newest_of_a_student_counts(course: Path) -> None:
    nbgrader = open_course(course)
    assert read_queue(nbgrader) == WatchQueue(0, None, 0, None)
    for student, time in (("ada", ONE), ("ada", TWO), ("ben", ONE)):
        submit(course, student, time)
    assert read_queue(nbgrader) == WatchQueue(2, FIRST, 0, None)
    (course / TERM_FILE).write_text(f"[labs.{LAB}]\nuntil = 2026-01-01T12:00:00Z\n")
    assert read_queue(nbgrader).waiting == 0, "the lab has closed, so no one waits"


def test_a_course_without_a_released_lab_has_no_queue(course: Path) -> None:
    (course / "exchange" / "gradlab" / "outbound" / LAB).rmdir()
    with pytest.raises(GradlabError, match="no lab of this course"):
        read_queue(open_course(course))


@pytest.mark.slow
def test_a_submission_in_a_killed_watch_waits_and_is_marked_once(course: Path) -> None:
    """Slow: two watches start, each with a fork server."""
    first = submit(course, "ada", ONE)
    running = start(course)
    wait_for(first.exists, running)
    assert read_watch_signs(course).is_running
    page = submit(course, "ben", ONE)
    collected = course / "submitted" / "ben" / LAB / "timestamp.txt"
    wait_for(lambda: collected.read_text() == ONE, running)
    os.kill(running.pid, signal.SIGKILL)  # most likely, it is being graded
    running.communicate()
    assert not read_watch_signs(course).is_running
    assert read_queue(open_course(course)).waiting == (0 if page.exists() else 1)

    running = start(course, LAB, "--once")
    output = running.communicate()[0]
    assert running.returncode == 0, output
    assert page.exists() and read_scores(course) == {"ada": 2, "ben": 2}
    assert [mark.submitted for mark in read_history(course, LAB, "ben")] == [FIRST]
    queue = read_queue(open_course(course))
    assert (queue.waiting, queue.held) == (0, 0) and queue.last_mark
