"""A watch that is stopped while it puts a lab into the gradebook doesn't call that a fault of the lab."""

import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from nbgrader.converters.generate_assignment import GenerateAssignment

from autograder.gradebook.nbgrader_course import open_course
from tests.classroom.graded_class import LAB
from tests.classroom.processes import wait_for
from tests.watch.watched_exchange import add_exchange, start


def count_assignments(course: Path) -> int:
    with closing(sqlite3.connect(course / "gradebook.db")) as gradebook:
        return int(gradebook.execute("SELECT count(*) FROM assignment").fetchone()[0])


@pytest.mark.slow
def test_a_stop_lets_the_present_lab_be_finished(small_course: Path) -> None:
    """Slow: a watch starts."""
    add_exchange(small_course)
    running = start(small_course, LAB)
    wait_for((small_course / "results" / LAB / ".prepared").exists, running)
    running.send_signal(signal.SIGINT)
    output = running.communicate()[0]
    assert (running.returncode, count_assignments(small_course)) == (0, 1), output
    assert "fix:" not in output


def test_a_ctrl_c_inside_nbgrader_is_a_stop(small_course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: GenerateAssignment) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(GenerateAssignment, "start", interrupt)
    with pytest.raises(KeyboardInterrupt):
        open_course(small_course).generate_assignment(LAB)
