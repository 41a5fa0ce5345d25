"""A course's due dates, as its user writes them into the exchange."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from nbgrader.api import Gradebook

from autograder.model.term import Extension, add_extension
from tests.waiting import wait_until

LAB = "01_squares"
DUE, LATER = "2099-12-04T18:00:00+00:00", "2099-12-06T18:00:00+00:00"


def test_a_new_date_or_extension_is_written_until_the_input_ends(small_course: Path, tmp_path: Path) -> None:
    file = tmp_path / "due.json"
    command = [sys.executable, "-m", "autograder.hub.course_process", str(small_course), "due", str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        wait_until(lambda: json.loads(file.read_text()) == {}, "there's no date yet")
        with Gradebook(f"sqlite:///{small_course}/gradebook.db", "gradlab") as gradebook:
            gradebook.add_assignment(LAB, duedate="2099-12-04 18:00:00")
        wait_until(lambda: json.loads(file.read_text()) == {LAB: {"": DUE}}, "the date is written")
        until = datetime(2099, 12, 6, 18, tzinfo=UTC)
        add_extension(small_course, Extension(lab=LAB, student="ben", until=until))
        wait_until(lambda: json.loads(file.read_text()) == {LAB: {"": DUE, "ben": LATER}}, "the extension is written")
    assert process.returncode == 0
