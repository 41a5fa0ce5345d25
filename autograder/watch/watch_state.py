"""What a watch does with the inbox: which submissions are due now, what it reports about others, what it retries."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from autograder.base.errors import GradlabError
from autograder.base.stop_request import StopRequest
from autograder.base.text import format_count, join_names
from autograder.base.timestamps import format_time, get_utc_now, read_time
from autograder.classroom.grading_outcome import write_log
from autograder.exchange.attempts import WATCH_COMMAND, AttemptDecision, decide_attempt, resolve_lab_term
from autograder.exchange.inbox import Inbox
from autograder.exchange.inbox_memory import InboxMemory
from autograder.gradebook.counting_submissions import find_newest_submission
from autograder.gradebook.history import HistoryEntry, read_history
from autograder.gradebook.nbgrader_course import NbgraderCourse
from autograder.gradebook.submission_folders import get_submitted_path
from autograder.model.arrivals import CLOCK_TOLERANCE, Arrival, group_by_reason, select_newest
from autograder.model.assignments import list_source_notebooks
from autograder.model.term import LabTerm, Term, read_term
from autograder.watch.notices import render_notice, write_notice
from autograder.watch.watch_presence import WatchPresence

RETRY_SECONDS = 5.0  # before a submission that couldn't be graded is tried again; the wait doubles each time
MAX_DOUBLINGS = 7  # then every ten minutes
RETRIED = "gradlab tries again later"


@dataclass
class WatchState:
    """The state of a watch of this course."""

    nbgrader: NbgraderCourse
    labs: Sequence[str]
    inbox: Inbox
    report: Callable[[str], None]
    """Called with what isn't marked, and why."""
    stop: StopRequest
    term: Term
    """As it could last be read."""
    ignores_limits: bool = False
    """Whether everyone's newest submission is marked, whatever the term's limits are."""
    presence: WatchPresence | None = None
    """None for what only looks at a watch's work."""
    arrivals: list[Arrival] = field(default_factory=list)
    """What was in the inbox at the last look."""
    memory: InboxMemory = field(default_factory=InboxMemory)
    finished: set[Path] = field(default_factory=set)
    """Folders that need no further look."""
    refused: set[Path] = field(default_factory=set)
    """Finished folders that the term's limits leave unmarked."""
    due_times: dict[Path, datetime] = field(default_factory=dict)
    """When to look at a folder again."""
    tries: Counter[Path] = field(default_factory=Counter)
    """How often grading a folder has failed."""
    reported: set[str] = field(default_factory=set)
    turns: Counter[str] = field(default_factory=Counter)
    """How many submissions of each student were graded so far."""

    @property
    def course(self) -> Path:
        return self.nbgrader.root

    def report_once(self, message: str) -> None:
        if message not in self.reported:
            self.reported.add(message)
            self.report(message)

    def list_members(self, arrival: Arrival) -> tuple[str, ...]:
        """Return the students who share this submission's mark."""
        team = self.term.find_team(arrival.lab, arrival.student)
        return team.members if team else (arrival.student,)

    def get_lab_term(self, arrival: Arrival) -> LabTerm:
        """Return what term.toml sets for this submission."""
        return resolve_lab_term(self.term, arrival.lab, arrival.student, self.ignores_limits)

    def finish(self, arrival: Arrival) -> None:
        """Leave a submission alone from now on."""
        self.finished.add(arrival.folder)

    def record_turn(self, arrival: Arrival) -> None:
        """Let students with fewer turns go first."""
        self.turns[arrival.student] += 1

    def forget(self, arrival: Arrival) -> None:
        """Open the submission's folder again at the next look, since another one may have its name by now."""
        self.memory.arrivals.pop(arrival.folder.name, None)

    def postpone(self, arrival: Arrival, reason: str) -> bool:
        """Try a submission again later. Returns whether this is the first time."""
        if self.presence:
            self.presence.record_problem(reason.splitlines()[0])
        self.finished.discard(arrival.folder)
        self.tries[arrival.folder] += 1
        tries = self.tries[arrival.folder]
        seconds = RETRY_SECONDS * 2 ** min(tries - 1, MAX_DOUBLINGS)
        self.due_times[arrival.folder] = get_utc_now() + timedelta(seconds=seconds)
        return tries == 1


def poll_inbox(state: WatchState) -> list[Arrival]:
    """Return the newest submission of each student that has to be marked now, in order of arrival.

    Students with fewer turns go first, so someone who submits often holds no one else up.
    """
    now = get_utc_now()
    if state.presence:
        state.presence.record_look()
    try:
        _update_term(state, read_term(state.course))
        state.arrivals = list(state.inbox.iter_arrivals(state.labs, state.memory, now))
    except (GradlabError, OSError) as error:
        state.report_once(f"{error}\n    nothing new is marked until this is fixed")
        return []
    report_problems(state, now)
    due = []
    for arrival in select_newest(state.arrivals, now):
        if arrival.folder in state.finished or state.due_times.get(arrival.folder, now) > now:
            continue
        try:
            inspection = inspect_arrival(state, arrival, now)
            if inspection.is_over:
                state.finish(arrival)
            elif inspection.decision.is_due:
                due.append(arrival)
            else:
                _leave_unmarked(state, arrival, inspection)
        except Exception as error:  # whatever a student's files cause affects only this submission
            reason = describe_error(state.course, arrival.lab, error)
            state.postpone(arrival, reason)
            state.report_once(f"{arrival.shown_name}: {reason}\n    {RETRIED}")
    return sorted(due, key=lambda arrival: state.turns[arrival.student])


def describe_error(course: Path, lab: str, error: Exception) -> str:
    """Describe the error. The traceback of one that no one foresaw goes to a file, which the sentence names.

    Each lab has one such file with its latest traceback, so an error that repeats for hours doesn't fill the disk.
    """
    if isinstance(error, GradlabError):
        return str(error)
    description = f"{type(error).__name__}: {error}"
    if isinstance(error, OSError):
        return description
    log = write_log(course, lab, ".watch", "".join(traceback.format_exception(error)))
    return f"{description} (see {log})"


@dataclass(frozen=True)
class Inspection:
    """What a look at a submission in the inbox found."""

    history: Sequence[HistoryEntry]
    """Every mark of this student so far."""
    decision: AttemptDecision
    """Whether it has to be marked now."""
    is_over: bool
    """Whether nothing is left to do: it has its mark and its page, or a later submission counts."""


def inspect_arrival(state: WatchState, arrival: Arrival, now: datetime) -> Inspection:
    """Find out what to do with a submission, from what the course and the exchange hold."""
    history = read_history(state.course, arrival.lab, arrival.student)
    is_collected = read_time(get_submitted_path(state.course, arrival.lab, arrival.student)) == arrival.submitted
    earliest, settings = arrival.changed_at - CLOCK_TOLERANCE, state.get_lab_term(arrival)
    decision = decide_attempt(
        arrival.submitted, history, settings, now, earliest, is_collected or state.ignores_limits, state.inbox.zone
    )
    is_marked = any(mark.command == WATCH_COMMAND and mark.submitted == arrival.submitted for mark in history)
    is_finished = is_marked and is_collected and not decision.refusal and _is_released(state, arrival)
    return Inspection(history, decision, is_finished or _is_superseded(state, arrival))


def _is_superseded(state: WatchState, arrival: Arrival) -> bool:
    """Return whether submitted/ has a later submission of the student or the team, who would share its mark."""
    newest = find_newest_submission(state.course, arrival.lab, state.list_members(arrival))
    return newest is not None and newest.submitted is not None and newest.submitted > arrival.submitted


def _update_term(state: WatchState, term: Term) -> None:
    """Use the term; if it was edited, look again at what its limits left unmarked."""
    if term != state.term:
        state.finished -= state.refused
        state.due_times = {folder: time for folder, time in state.due_times.items() if folder in state.tries}
        state.refused.clear()
        state.term = term


def _leave_unmarked(state: WatchState, arrival: Arrival, inspection: Inspection) -> None:
    """Leave a submission unmarked, for now or for good, and say so on a page instead of its feedback."""
    history, decision = inspection.history, inspection.decision
    if decision.due_from:
        state.due_times[arrival.folder] = decision.due_from
    else:
        state.report_once(f"{arrival.student} {arrival.lab}: not marked, {decision.refusal}")
        state.finish(arrival)
        state.refused.add(arrival.folder)
    if any(mark.submitted == arrival.submitted for mark in history):
        return  # gradlab grade marked it, and the instructor releases its page
    try:
        page = render_notice(state.course, arrival, decision, history, state.inbox.zone)
        write_notice(state.inbox, state.course, arrival, page)
    except OSError as error:
        state.report_once(f"{state.inbox.feedback} can't be written: {error.strerror}")


def describe_leftovers(state: WatchState) -> list[str]:
    """Return lines with numbers of submissions that have no mark when there is nothing left to do now."""
    waiting = sorted(time for folder, time in state.due_times.items() if folder not in state.tries)
    with_problem = sum(map(len, group_by_reason(state.arrivals, get_utc_now()).values()))
    in_transit = [arrival for arrival in state.arrivals if arrival.in_transit]
    lines = []
    if waiting:
        first = format_time(waiting[0], state.inbox.zone)
        count_text = format_count(len(waiting), "submission", "waits", "wait")
        lines.append(f"{count_text} as term.toml asks, the first until {first}: --newest marks them now")
    if state.refused and not state.ignores_limits:
        count_text = format_count(len(state.refused), "submission")
        lines.append(f"{count_text} not marked because of limits in term.toml: --newest marks them")
    if with_problem:
        count_text = format_count(with_problem, "folder", "isn't", "aren't")
        lines.append(f"{count_text} counted for any student, for the reasons above")
    if in_transit:
        names = join_names([arrival.shown_name for arrival in in_transit])
        lines.append(f"{len(in_transit)} may still be arriving, so run the same command in a minute: {names}")
    return lines


def report_problems(state: WatchState, now: datetime) -> None:
    """Report, once for each, folders that count for no one, and those whose time is in the future."""
    for reason, arrivals in group_by_reason(state.arrivals, now).items():
        new = [arrival for arrival in arrivals if f"{arrival.folder}: {reason}" not in state.reported]
        state.reported.update(f"{arrival.folder}: {reason}" for arrival in new)
        if new:
            state.report_once(f"{join_names([arrival.shown_name for arrival in new])}: not marked, {reason}")


def _is_released(state: WatchState, arrival: Arrival) -> bool:
    notebooks = list_source_notebooks(state.course, arrival.lab)
    return all(state.inbox.has_page(arrival, notebook.stem) for notebook in notebooks)
