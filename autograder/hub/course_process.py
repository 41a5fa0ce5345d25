"""A course's side of the hub, run as its owner: `python -m autograder.hub.course_process COURSE scores|people`.

`scores` prints everyone's scores, a line of JSON each time they change, until its input ends. `people` puts the people
in its input, a JSON list, into the gradebook.
"""

from __future__ import annotations

import json
import os
import select
import sys
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter
from sqlalchemy import make_url

from autograder.gradebook.nbgrader_course import NbgraderCourse, open_course
from autograder.lms.people import Person
from autograder.lms.roster import write_roster
from autograder.lms.scores import list_scores
from autograder.model.term import TERM_FILE

LOOK_SECONDS = 2.0
READ_AGAIN = 30  # looks, after which the gradebook is read even if no file has changed: it may be a server


def print_scores(course: NbgraderCourse) -> None:
    """Print the scores now, and each time they change."""
    looks, printed = 0, ""
    seen: tuple[object, ...] = ()
    is_open = True
    while is_open:
        files = _read_file_state(course)
        if files != seen or looks % READ_AGAIN == 0:
            with course.open_gradebook() as gradebook:
                line = json.dumps([asdict(score) for score in list_scores(gradebook, course.root)])
            if line != printed:
                print(line, flush=True)
            seen, printed = files, line
        looks += 1
        is_open = not select.select([sys.stdin], [], [], LOOK_SECONDS)[0]  # readable once it has ended


def _read_file_state(course: NbgraderCourse) -> tuple[object, ...]:
    """Read what changes when the gradebook or term.toml does."""
    database = make_url(course.db_url).database or ""
    states: list[object] = []
    for path in (database, f"{database}-wal", course.root / TERM_FILE):
        try:
            status = os.stat(path)
            states.append((status.st_mtime_ns, status.st_size))
        except OSError:
            states.append(None)
    return tuple(states)


def write_people(course: NbgraderCourse, text: str) -> None:
    """Add these people to the gradebook."""
    people = TypeAdapter(list[Person]).validate_json(text)
    with course.open_gradebook() as gradebook:
        write_roster(gradebook, people)


def main() -> None:
    """Run one of the two."""
    course = open_course(Path(sys.argv[1]))
    if sys.argv[2] == "people":
        write_people(course, sys.stdin.read())
    else:
        print_scores(course)


if __name__ == "__main__":
    main()
