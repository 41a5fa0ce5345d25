"""The service `grades-COURSE` of a hub: `python -m autograder.hub.lti_service HUB_FILE COURSE`.

It alone reads the LTI key. Marks and the roster are in the course, which it reaches only through processes that run as
the course's owner: the course's configuration runs with no other rights, and the owner never sees the key.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from autograder.base.errors import GradlabError
from autograder.base.stop_request import StopRequest
from autograder.hub.course_people import build_course_command, choose_course_options, write_people
from autograder.hub.lti_admission import drop_disconnected
from autograder.hub.lti_key import KEY, read_key_name
from autograder.hub.lti_ledger import Ledger
from autograder.hub.lti_platform import Platform
from autograder.hub.lti_records import LaunchRecords, read_records
from autograder.hub.lti_roster import RosterReader
from autograder.hub.lti_scores import ScoreSender
from autograder.hub.service_names import get_grades_service
from autograder.hub.service_output import configure_output
from autograder.hub.settings import Hub, HubCourse, read_settings
from autograder.lms.scores import LabScore

LOOK_SECONDS = 1.0
PAUSE_SECONDS = 10.0  # after the course's process has failed
SCORES = TypeAdapter(tuple[LabScore, ...])
log = logging.getLogger(__name__)


class CourseProcess:
    """The course's side: course_process.py, run as the course's owner."""

    def __init__(self, course: HubCourse) -> None:
        self.scores: tuple[LabScore, ...] = ()
        self._course = course
        self._child: subprocess.Popen[str] | None = None

    def follow_scores(self, stop: StopRequest) -> None:
        """Keep `scores` as the gradebook has them, until stopped."""
        while not stop.is_set():
            with subprocess.Popen(
                build_course_command(self._course, "scores"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                **choose_course_options(self._course),
            ) as self._child:
                for line in self._child.stdout or ():
                    try:
                        self.scores = SCORES.validate_json(line)
                    except ValidationError as error:
                        log.warning("the scores of %s can't be read: %s", self._course.name, error)
            if not stop.is_set():
                log.warning("what reads the scores of %s has ended", self._course.name)
                stop.wait(PAUSE_SECONDS)

    def end(self) -> None:
        """End following the scores."""
        if self._child and self._child.stdin:
            self._child.stdin.close()


def run_service(hub: Hub, name: str, stop: StopRequest) -> None:
    """Send scores and read the roster until stopped.

    Args:
        name: The course's.
    """
    assert hub.lti is not None
    os.umask(0o077)
    folder = hub.lti_folder
    course = next(course for course in hub.courses if course.name == name)
    key = (folder / KEY).read_text(encoding="utf-8")
    ledger = Ledger(folder / f"{name}.sqlite")
    process, platform = CourseProcess(course), Platform(hub.lti, key, read_key_name(folder))
    sender = ScoreSender(platform, ledger)
    roster = RosterReader(Platform(hub.lti, key, read_key_name(folder)), ledger, partial(write_people, course))
    reader = threading.Thread(target=process.follow_scores, args=[stop], daemon=True)
    reader.start()
    courses = [course.name for course in hub.courses]
    while not stop.is_set():
        try:
            records = _select_course(drop_disconnected(read_records(folder), hub.lti, courses), name)
        except GradlabError as error:
            log.error("%s", error)
        else:
            roster.update(records)
            sender.send(process.scores, records)
        stop.wait(LOOK_SECONDS)
    while reader.is_alive():  # it may just have started another process
        process.end()
        reader.join(LOOK_SECONDS)


def _select_course(records: LaunchRecords, course: str) -> LaunchRecords:
    """Return the records with the contexts of this course only."""
    contexts = {name: context for name, context in records.contexts.items() if context.course == course}
    return records.model_copy(update={"contexts": contexts})


def main() -> None:
    """Run the service until the hub ends it."""
    hub, course = read_settings(Path(sys.argv[1])), sys.argv[2]
    configure_output(get_grades_service(course))
    stop = StopRequest()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    run_service(hub, course, stop)


if __name__ == "__main__":
    main()
