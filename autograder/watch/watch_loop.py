"""Marks submissions as they arrive in the exchange: collects, grades, records the mark and releases the page.

Its state is in submitted/, results/, the gradebook and the exchange's feedback folder, so a watch that was killed
continues where it was. The fork server and its workers keep running, so a mark needs no imports.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from autograder.base.stop_request import StopRequest
from autograder.exchange.course_exchange import open_inbox
from autograder.gradebook.nbgrader_course import NbgraderCourse
from autograder.model.assignments import list_assignments
from autograder.model.term import read_term
from autograder.watch.grading_round import LOOK_SECONDS, ArrivalMark, GradingRound
from autograder.watch.watch_presence import WatchPresence
from autograder.watch.watch_state import WatchState, describe_leftovers, poll_inbox
from autograder.workers.executors import Executor


def watch_exchange(
    nbgrader: NbgraderCourse,
    labs: Sequence[str],
    executor: Executor,
    report: Callable[[str], None],
    stop: StopRequest,
    once: bool = False,
    ignores_limits: bool = False,
) -> Iterator[ArrivalMark]:
    """Mark what arrives until stopped, and yield the mark of each submission when its page is released.

    Args:
        executor: Grades the submissions.
        report: Called with what isn't marked, and why.
        stop: Set to end.
        once: Whether to end when nothing is left to mark.
        ignores_limits: Whether to mark every student's newest submission, whatever limits term.toml sets.

    Raises:
        GradlabError: If the course has no exchange.
    """
    presence = WatchPresence(nbgrader.root)
    term = read_term(nbgrader.root)
    state = WatchState(nbgrader, labs, open_inbox(nbgrader), report, stop, term, ignores_limits, presence)
    for line in state.inbox.describe_unplaced_entries(list_assignments(state.course)):
        state.report_once(line)
    with contextlib.closing(presence):
        while not stop.is_set():
            due = poll_inbox(state)
            if due:
                yield from GradingRound(state, executor, due).run()
            elif once:
                for line in describe_leftovers(state):
                    state.report_once(line)
                return
            else:
                stop.wait(LOOK_SECONDS)
