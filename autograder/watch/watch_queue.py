"""What waits for a watch, and when the last mark was given, as anyone can see it who reads the course."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from autograder.base.stop_request import StopRequest
from autograder.base.timestamps import get_utc_now
from autograder.exchange.course_exchange import list_released, open_inbox
from autograder.gradebook.nbgrader_course import NbgraderCourse
from autograder.model.arrivals import select_newest
from autograder.model.term import read_term, to_naive_utc
from autograder.watch.watch_state import WatchState, inspect_arrival


@dataclass(frozen=True)
class WatchQueue:
    """Submissions that have no mark yet: the newest of each student and lab."""

    waiting: int
    """How many are to be marked now, or are being marked."""
    oldest: datetime | None
    """When the first of these was submitted, in naive UTC."""
    held: int
    """How many wait because term.toml says so."""
    last_mark: datetime | None
    """When a submission was last marked, in naive UTC."""


def read_queue(nbgrader: NbgraderCourse) -> WatchQueue:
    """Read what waits in the exchange.

    Raises:
        GradlabError: If the course has no exchange, or has released no lab.
        OSError: If the exchange can't be read.
    """
    labs, now = list_released(nbgrader), get_utc_now()
    state = WatchState(nbgrader, labs, open_inbox(nbgrader), lambda line: None, StopRequest(), read_term(nbgrader.root))
    waiting, held, marks = list[datetime](), 0, list[datetime]()
    for arrival in select_newest(state.inbox.iter_arrivals(labs, now=now), now):
        inspection = inspect_arrival(state, arrival, now)
        marks += [to_naive_utc(mark.when) for mark in inspection.history]
        if inspection.is_over:
            continue
        if inspection.decision.is_due:
            waiting.append(arrival.submitted)
        elif inspection.decision.due_from:
            held += 1
    return WatchQueue(len(waiting), min(waiting, default=None), held, max(marks, default=None))
