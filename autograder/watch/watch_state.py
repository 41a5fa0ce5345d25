"""What a watch does with the inbox: which submissions are due now, what is told of others, and what is tried again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event

from autograder.base.errors import GradlabError
from autograder.base.text import join_names
from autograder.base.timestamps import format_time, get_utc_now, read_time
from autograder.exchange.attempts import CAUSE, Decision, decide, describe_counting_mark, resolve_lab_term
from autograder.exchange.collection import get_submitted_folder, is_superseded
from autograder.exchange.inbox import Inbox
from autograder.exchange.inbox_memory import InboxMemory
from autograder.gradebook.nbgrader_course import NbgraderCourse
from autograder.gradebook.past_marks import PastMark, read_history
from autograder.model.arrivals import CLOCKS, Arrival, group_by_reason, select_newest
from autograder.model.assignments import list_source_notebooks
from autograder.model.term import LabTerm, Term, read_term
from autograder.reports.unmarked_page import render_unmarked_page

AGAIN_SECONDS = 5.0  # after which what could not be graded is tried again, and then twice that, and so on
MOST_DOUBLED = 7  # times: then each ten minutes


@dataclass
class WatchState:
    """A watch of this course. term: as it could last be read. say: is told of what is not marked, and why. newest:
    everybody's newest submission is marked, whatever the term's limits are.

    found: what lay in the inbox at the last look. memory: what looks remember of it. done: those that need no further
    look; refused: of them, those that the term's limits leave unmarked; later: those that need one, and when. tries: of
    what failed, how often. told: what needs no telling again. turns: submissions of each student so far.
    """

    api: NbgraderCourse
    labs: Sequence[str]
    inbox: Inbox
    say: Callable[[str], None]
    stop: Event
    term: Term
    newest: bool = False
    found: list[Arrival] = field(default_factory=list)
    memory: InboxMemory = field(default_factory=InboxMemory)
    done: set[Path] = field(default_factory=set)
    refused: set[Path] = field(default_factory=set)
    later: dict[Path, datetime] = field(default_factory=dict)
    tries: Counter[Path] = field(default_factory=Counter)
    told: set[str] = field(default_factory=set)
    turns: Counter[str] = field(default_factory=Counter)

    @property
    def course(self) -> Path:
        return self.api.root

    def tell(self, words: str) -> None:
        if words not in self.told:
            self.told.add(words)
            self.say(words)

    def together(self, arrival: Arrival) -> tuple[str, ...]:
        """Whose mark this submission is."""
        team = self.term.find_team(arrival.lab, arrival.student)
        return team.members if team else (arrival.student,)

    def get_lab_term(self, arrival: Arrival) -> LabTerm:
        """What bounds its marks."""
        return resolve_lab_term(self.term, arrival.lab, arrival.student, self.newest)

    def postpone(self, arrival: Arrival) -> bool:
        """Try it again later. Whether this is the first time."""
        self.tries[arrival.folder] += 1
        tries = self.tries[arrival.folder]
        self.later[arrival.folder] = get_utc_now() + timedelta(
            seconds=AGAIN_SECONDS * 2 ** min(tries - 1, MOST_DOUBLED)
        )
        return tries == 1


def find_due_arrivals(on: WatchState) -> list[Arrival]:
    """The newest submission of each student that is to be marked now, the first come first.

    Before that, who had the fewest turns, so that handing in often holds nobody else up.
    """
    now = get_utc_now()
    try:
        _update_term(on, read_term(on.course))
        on.found = list(on.inbox.iter_arrivals(on.labs, on.memory, now))
    except (GradlabError, OSError) as error:
        on.tell(f"{error}\n    until then nothing new is marked")
        return []
    report_wrong_arrivals(on, now)
    due = []
    for arrival in select_newest(on.found, now):
        if arrival.folder in on.done or on.later.get(arrival.folder, now) > now:
            continue
        try:
            if _is_due(on, arrival, now):
                due.append(arrival)
        except Exception as error:  # of what a stranger wrote: it is this submission's, and tried again later
            on.postpone(arrival)
            on.tell(f"{arrival.shown_name}: {type(error).__name__}: {error}\n    it is tried again later")
    return sorted(due, key=lambda arrival: on.turns[arrival.student])


def _is_due(on: WatchState, arrival: Arrival, now: datetime) -> bool:
    """Whether this submission is to be marked now; if not, what is said of it is said."""
    history = read_history(on.course, arrival.lab, arrival.student)
    there = read_time(get_submitted_folder(arrival, on.course)) == arrival.when
    earliest, settings = arrival.written - CLOCKS, on.get_lab_term(arrival)
    decision = decide(arrival.when, history, settings, now, earliest, there or on.newest, on.inbox.zone)
    marked = any(mark.cause == CAUSE and mark.submitted == arrival.when for mark in history)
    is_done = marked and there and not decision.never and _is_released(on, arrival)
    if is_done or is_superseded(arrival, on.course, on.together(arrival)):
        on.done.add(arrival.folder)
    elif decision.now:
        return True
    else:
        _leave_unmarked(on, arrival, decision, history)
    return False


def _update_term(on: WatchState, term: Term) -> None:
    """Where it was edited, what its limits left unmarked is looked at once more."""
    if term != on.term:
        on.done -= on.refused
        on.later = {folder: when for folder, when in on.later.items() if folder in on.tries}
        on.refused.clear()
        on.term = term


def _leave_unmarked(on: WatchState, arrival: Arrival, decision: Decision, history: Sequence[PastMark]) -> None:
    """Do not mark it, or not now, and say so where its page would be."""
    if decision.later:
        on.later[arrival.folder] = decision.later
        words = f"It waits, and is marked from {format_time(decision.later, on.inbox.zone)} on."
        more = "If you hand in again, the newer one is marked in its place."
    else:
        on.tell(f"{arrival.student} {arrival.lab}: not marked, {decision.never}")
        on.done.add(arrival.folder)
        on.refused.add(arrival.folder)
        words, more = f"Not marked: {decision.never}.", describe_counting_mark(history, on.inbox.zone)
    if any(mark.submitted == arrival.when for mark in history):
        return  # gradlab grade gave it a mark, whose page comes when the instructor releases it
    handed_in = format_time(arrival.when, on.inbox.zone)
    page = render_unmarked_page(arrival.lab, arrival.student, handed_in, words, more).encode()
    try:
        for notebook in list_source_notebooks(on.course, arrival.lab):
            if not on.inbox.has_page(arrival, notebook.stem):
                on.inbox.put(arrival, notebook.stem, page)
    except OSError as error:
        on.tell(f"{on.inbox.feedback} cannot be written: {error.strerror}")


def describe_leftovers(on: WatchState) -> list[str]:
    """What of the inbox has no mark when nothing is left to do now, in sums."""
    waiting = sorted(when for folder, when in on.later.items() if folder not in on.tries)
    wrong = sum(map(len, group_by_reason(on.found, get_utc_now()).values()))
    come = [arrival for arrival in on.found if arrival.comes]
    lines = []
    if waiting:
        first = format_time(waiting[0], on.inbox.zone)
        lines.append(f"{len(waiting)} wait for their time, the first until {first}: --newest marks them now")
    if on.refused and not on.newest:
        lines.append(f"{len(on.refused)} left by the limits of term.toml: --newest marks them")
    if wrong:
        lines.append(f"{wrong} count for nobody, for the reasons above")
    if come:
        names = join_names([arrival.shown_name for arrival in come])
        lines.append(f"{len(come)} may still be on the way, in a minute the same command knows: {names}")
    return lines


def report_wrong_arrivals(on: WatchState, now: datetime) -> None:
    """Once of each: folders that count for nobody, and those whose time lies ahead."""
    for why, found in group_by_reason(on.found, now).items():
        new = [arrival for arrival in found if f"{arrival.folder}: {why}" not in on.told]
        on.told.update(f"{arrival.folder}: {why}" for arrival in new)
        if new:
            on.tell(f"{join_names([arrival.shown_name for arrival in new])}: not marked, {why}")


def _is_released(on: WatchState, arrival: Arrival) -> bool:
    notebooks = list_source_notebooks(on.course, arrival.lab)
    return all(on.inbox.has_page(arrival, notebook.stem) for notebook in notebooks)
