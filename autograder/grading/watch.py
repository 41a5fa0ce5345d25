"""Marks what arrives in the exchange, as it arrives: collect, grade, gradebook, feedback page, back to the student.

What was done is read from what it leaves in submitted/, results/, the gradebook and the exchange's feedback folder, so
a watch that was killed goes on where it was. The fork server and its workers stay: a mark takes no import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

from autograder.errors import GradlabError
from autograder.forkserver.client import Purpose
from autograder.forkserver.starting import Started
from autograder.gradebook.history import read_history
from autograder.gradebook.reader import result_in
from autograder.gradebook.writer import opened
from autograder.grading.attempts import CAUSE, decide
from autograder.grading.class_writer import course_of
from autograder.grading.inbox import Arrival, Inbox, bring_in, inbox_of, newest, superseded
from autograder.grading.plain_class import refuse_nothing
from autograder.grading.pool import Pool
from autograder.grading.where import Where
from autograder.grading.whole_lab import class_of, on_this_machine, prepare, settings_from
from autograder.reports.feedback import write_feedback
from autograder.term import Term, read_term

LOOK_SECONDS = 0.2  # between two looks at the inbox: a tenth of what a mark may take
AGAIN_SECONDS = 5.0  # after which a lab that could not be graded is tried again
ROUND = 32  # submissions of a lab that are graded between two looks


@dataclass(frozen=True)
class Marked:
    """A submission that has its mark, and its page where the student fetches it. seconds: since it came in.

    failure: why it has none.
    """

    arrival: Arrival
    points: float = 0.0
    worth: float = 0.0
    seconds: float = 0.0
    failure: str = ""


@dataclass
class _Seen:
    """What is known of the inbox. done: folders that need no further look; later: those that do, and when."""

    names: dict[str, Arrival] = field(default_factory=dict)
    done: set[Path] = field(default_factory=set)
    later: dict[Path, datetime] = field(default_factory=dict)


def watch(
    api: Any, labs: Sequence[str], where: Where, say: Callable[[str], None], stop: Event, once: bool = False
) -> Iterator[Marked]:
    """Mark what arrives until stopped, and yield each submission when its page is released.

    api: nbgrader's, of the course. say: is told of what is not marked, and why. once: end when nothing is left.
    Raises GradlabError where the course has no exchange.
    """
    inbox, course, seen = inbox_of(api), course_of(api), _Seen()
    while not stop.is_set():
        term = read_term(course)
        due = _due(inbox, course, labs, term, seen, say)
        for lab in dict.fromkeys(arrival.lab for arrival in due):
            mine = [arrival for arrival in due if arrival.lab == lab][:ROUND]
            try:
                yield from _round(api, inbox, lab, mine, where, term, stop)
                seen.done |= {arrival.folder for arrival in mine}
            except GradlabError as error:
                say(f"{lab}: {error}")
                seen.later |= dict.fromkeys((a.folder for a in mine), _now() + timedelta(seconds=AGAIN_SECONDS))
        if once and not due:
            return
        if not due:
            stop.wait(LOOK_SECONDS)


def released(api: Any) -> list[str]:
    """The labs that students can fetch. Raises GradlabError where there is none."""
    inbox, course = inbox_of(api), course_of(api)
    found = sorted(p.name for p in inbox.outbound.glob("*") if (course / "source" / p.name).is_dir())
    if not found:
        raise GradlabError(f"no lab of this course is in {inbox.outbound}: nbgrader release_assignment LAB first")
    return found


def prepare_all(api: Any, labs: Sequence[str]) -> None:
    """Put these labs into the gradebook before the first submission comes, which would wait for it."""
    with opened(api.coursedir.db_url, api.coursedir.course_id) as gradebook:
        for lab in labs:
            refuse_nothing(course_of(api), lab)
            prepare(api, course_of(api), lab, gradebook)


def started_pool(api: Any, device: str, jobs: int, ahead: Started | None) -> Pool:
    """Workers that wait. ahead: as in ThisMachine."""
    course, settings = course_of(api), settings_from(api.config, on_this_machine(device))
    wanted = Purpose(settings.isolation, settings.limits, settings.device)
    return Pool(wanted, settings.timeouts.submission, (course,), jobs, ahead)


def _due(
    inbox: Inbox, course: Path, labs: Sequence[str], term: Term, seen: _Seen, say: Callable[[str], None]
) -> list[Arrival]:
    """The newest submission of each student that is to be marked now, the first come first."""
    due, now = [], _now()
    for arrival in newest(inbox.arrivals(labs, seen.names)):
        if arrival.folder in seen.done or seen.later.get(arrival.folder, now) > now:
            continue
        history = read_history(course, arrival.lab, arrival.student)
        decision = decide(arrival.when, history, term.lab(arrival.lab), now)
        owner = inbox.foreign(arrival)
        why = f"its folder is {owner}'s (c.ExchangeCollect.check_owner = False takes it)" if owner else decision.never
        marked = any(mark.cause == CAUSE and mark.submitted == arrival.when for mark in history)
        if why:
            say(f"{arrival.student} {arrival.lab}: not marked, {why}")
        if why or superseded(arrival, course) or (marked and _is_released(inbox, course, arrival)):
            seen.done.add(arrival.folder)
        elif decision.later:
            seen.later[arrival.folder] = decision.later
        else:
            due.append(arrival)
    return due


def _is_released(inbox: Inbox, course: Path, arrival: Arrival) -> bool:
    notebooks = (course / "source" / arrival.lab).glob("*.ipynb")
    return all(inbox.page_of(arrival, notebook.stem).exists() for notebook in notebooks)


def _round(
    api: Any, inbox: Inbox, lab: str, arrivals: Sequence[Arrival], where: Where, term: Term, stop: Event
) -> Iterator[Marked]:
    """Grade these submissions of a lab, and release their pages."""
    course = course_of(api)
    for arrival in arrivals:
        bring_in(arrival, course)
    students: dict[str, Arrival] = {}
    for arrival in arrivals:
        team = term.team_of(lab, arrival.student)
        students |= dict.fromkeys(team.members if team else [arrival.student], arrival)
    with class_of(api, lab, where) as (writer, _):
        writer.cause = CAUSE
        done = {each.student: each for each in writer.grade(list(students), where, False, stop)}
        writer.write()
        for arrival in arrivals:
            of_it = done.get(arrival.student)
            if of_it is None:  # stopped before its turn
                continue
            if of_it.failure:
                yield Marked(arrival, failure=of_it.failure)
                continue
            result = result_in(writer.gradebook, course, lab, arrival.student)
            inbox.release(arrival, write_feedback([result], course, lab, term.lab(lab).tell))
            seconds = (_now() - arrival.when).total_seconds()
            yield Marked(arrival, result.points, result.worth, seconds)


def _now() -> datetime:
    """UTC without a zone, as nbgrader keeps times."""
    return datetime.now(UTC).replace(tzinfo=None)
