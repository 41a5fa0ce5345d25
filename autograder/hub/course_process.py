"""A course's side of the hub, run as its owner: `python -m autograder.hub.course_process COURSE PART`.

`scores` prints everyone's scores, a line of JSON each time they change, until its input ends. `due FILE` writes when
labs are due, as long. `people` puts the people in its input, a JSON list, into the gradebook.
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from nbgrader.api import Gradebook
from pydantic import TypeAdapter
from sqlalchemy import make_url

from autograder.base.atomic_files import write_atomically
from autograder.gradebook.due_dates import read_due_dates
from autograder.gradebook.nbgrader_course import NbgraderCourse, open_course
from autograder.lms.people import Person
from autograder.lms.roster import write_roster
from autograder.lms.scores import list_scores
from autograder.model.term import TERM_FILE, read_term, to_utc

LOOK_SECONDS = 2.0
READ_AGAIN = 30  # looks, after which the gradebook is read even if no file has changed: it may be a server


def print_scores(course: NbgraderCourse) -> None:
    """Print the scores now, and each time they change."""

    def describe_scores(gradebook: Gradebook) -> str:
        return json.dumps([asdict(score) for score in list_scores(gradebook, course.root)])

    for line in _iter_changes(course, describe_scores):
        print(line, flush=True)


def publish_due_dates(course: NbgraderCourse, path: Path) -> None:
    """Write the due dates to this file now, and each time they change."""

    def describe_due_dates(gradebook: Gradebook) -> str:
        dates = read_due_dates(gradebook, read_term(course.root))
        return json.dumps(dates, default=lambda time: to_utc(time).isoformat(), sort_keys=True)

    for text in _iter_changes(course, describe_due_dates):
        write_atomically(path, text)
        path.chmod(0o644)


def _iter_changes(course: NbgraderCourse, describe: Callable[[Gradebook], str]) -> Iterator[str]:
    """Yield a description of the gradebook now, and each time it changes, until the input ends."""
    looks, latest = 0, ""
    seen: tuple[object, ...] = ()
    is_open = True
    while is_open:
        files = _read_file_state(course)
        if files != seen or looks % READ_AGAIN == 0:
            with course.open_gradebook() as gradebook:
                text = describe(gradebook)
            if text != latest:
                yield text
            seen, latest = files, text
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
    """Run one of the three."""
    course = open_course(Path(sys.argv[1]))
    match sys.argv[2:]:
        case ["people"]:
            write_people(course, sys.stdin.read())
        case ["due", path]:
            publish_due_dates(course, Path(path))
        case _:
            print_scores(course)


if __name__ == "__main__":
    main()
