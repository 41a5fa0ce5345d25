"""Marks submissions as they arrive in the exchange: collects, grades, records the mark and releases the page.

What is done shows in submitted/, results/, the gradebook and the exchange's feedback folder, so a watch that was killed
continues where it was. The fork server and its workers stay, so a mark needs no imports.

A submission that fails affects no other: it is reported once, and tried again at growing intervals. While one takes
long, others overtake it; only one of a student or a team is graded at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from time import monotonic

from autograder.base.errors import GradlabError
from autograder.base.progress_bar import LONG_SECONDS
from autograder.base.text import make_readable
from autograder.base.timestamps import get_utc_now
from autograder.classroom.class_writer import GradebookWriter
from autograder.classroom.outcomes import GradingOutcome
from autograder.classroom.teams import find_submitters
from autograder.classroom.whole_lab import open_class, read_settings
from autograder.exchange.attempts import CAUSE, describe_attempts
from autograder.exchange.collection import ChangedError, collect_submission
from autograder.exchange.inbox import open_inbox
from autograder.gradebook.enrolment import find_strangers
from autograder.gradebook.nbgrader_course import NbgraderCourse
from autograder.gradebook.past_marks import read_history
from autograder.gradebook.reader import find_result
from autograder.gradebook.writer import read_recorded
from autograder.model.arrivals import Arrival
from autograder.model.assignments import list_assignments
from autograder.model.messages import describe_notes
from autograder.model.term import read_term
from autograder.reports.feedback import write_feedback
from autograder.submission.lab_submission import GradedSubmission
from autograder.submission.task import Task
from autograder.watch.watch_state import WatchState, describe_leftovers, find_due_arrivals
from autograder.workers.executors import Executor
from autograder.workers.worker import Failure

LOOK_SECONDS = 0.2  # between two looks at the inbox: a tenth of what a mark may take
BUSY_SECONDS = 1.0  # between two looks while submissions still wait


@dataclass(frozen=True)
class MarkedSubmission:
    """A submission that has its mark, and its page where the student fetches it."""

    arrival: Arrival
    points: float = 0.0
    worth: float = 0.0
    seconds: float = 0.0
    """How long ago it arrived."""
    failure: str = ""
    """Why it has no mark."""
    damaged: str = ""
    """Why it counts as one without answers."""
    waits: bool = False
    """Whether a person has yet to read some of it."""


def watch(
    api: NbgraderCourse,
    labs: Sequence[str],
    where: Executor,
    say: Callable[[str], None],
    stop: Event,
    once: bool = False,
    newest: bool = False,
) -> Iterator[MarkedSubmission]:
    """Mark what arrives until stopped, and yield each submission when its page is released.

    Args:
        where: Where submissions are graded.
        say: Called with what isn't marked, and why.
        stop: Set to end.
        once: Whether to end when nothing is left to mark.
        newest: Whether to mark every student's newest submission, whatever limits term.toml sets.

    Raises:
        GradlabError: If the course has no exchange.
    """
    on = WatchState(api, labs, open_inbox(api), say, stop, read_term(api.root), newest)
    for words in on.inbox.describe_unplaced(list_assignments(on.course)):
        on.tell(words)
    while not stop.is_set():
        due = find_due_arrivals(on)
        if due:
            yield from _GradingRound(on, where, due).marked()
        elif once:
            for words in describe_leftovers(on):
                on.tell(words)
            return
        else:
            stop.wait(LOOK_SECONDS)


class _GradingRound:
    """A round from the first submission that is due until nothing is being graded. It takes later arrivals, too."""

    def __init__(self, on: WatchState, where: Executor, due: list[Arrival]) -> None:
        self.on, self.where, self.due = on, where, due
        self.looked = monotonic()
        self.writers: dict[str, GradebookWriter] = {}
        self.open: dict[str, ExitStack] = {}
        self.running: dict[tuple[str, str], Arrival] = {}  # by lab and student
        self.since: dict[Path, float] = {}  # by folder, when its grading began
        self.own: dict[Path, GradingOutcome] = {}  # outcomes for those who handed in, while their teams are graded
        self.failed: set[Path] = set()
        self.ready: list[MarkedSubmission] = []

    def marked(self) -> Iterator[MarkedSubmission]:
        try:
            for task, outcome in self._iter_outcomes():
                self._record_outcome(task, outcome)
                yield from self._take_ready()
        except GradlabError as error:  # of the pool or the cluster, not of a submission
            self.on.tell(str(error))
            for arrival in self.running.values():
                self.on.postpone(arrival)
        finally:
            for lab in list(self.open):
                self._close(lab)
        yield from self._take_ready()

    def _iter_outcomes(self) -> Iterator[tuple[Task, GradedSubmission | Failure]]:
        settings = read_settings(self.on.api.config, self.where.device)
        return self.where.grade(self._iter_tasks(), settings, [self.on.course], self.on.stop)

    def _iter_tasks(self) -> Iterator[Task | None]:
        while not self.on.stop.is_set():
            arrival = self._next()
            self._report_slow()
            if arrival is None:
                yield None
            else:
                yield from self._prepare_tasks(arrival)

    def _next(self) -> Arrival | None:
        if monotonic() - self.looked > (BUSY_SECONDS if self.due else LOOK_SECONDS):
            known = {arrival.folder for arrival in self.running.values()}
            self.due, self.looked = [a for a in find_due_arrivals(self.on) if a.folder not in known], monotonic()
        busy = {student for _, student in self.running}
        arrival = next((each for each in self.due if busy.isdisjoint(self.on.together(each))), None)
        if arrival is not None:
            self.due.remove(arrival)
            self.on.turns[arrival.student] += 1
        return arrival

    def _report_slow(self) -> None:
        for arrival in self.running.values():
            if monotonic() - self.since[arrival.folder] > LONG_SECONDS:
                self.on.tell(f"{arrival.student} {arrival.lab}: it takes long; others go past it")

    def _prepare_tasks(self, arrival: Arrival) -> list[Task]:
        """The tasks of this submission, one for each member of its team."""
        lab, on = arrival.lab, self.on
        try:
            collect_submission(arrival, on.course)
        except OSError as error:
            on.memory.known.pop(arrival.folder.name, None)  # another may be there by now
            if not isinstance(error, ChangedError):
                self._report_failure(arrival, f"cannot be copied: {error}")
            return []
        try:
            writer = self._open_writer(lab)
        except Exception as error:
            on.tell(f"{lab}: {_describe_error(error)}")
            on.postpone(arrival)
            return []
        self.failed.discard(arrival.folder)
        try:
            students = on.together(arrival)
            for student in find_strangers(writer.gradebook, students):
                on.tell(f"{make_readable(student)} is not on the roster (gradlab roster)")
            writer.submitters |= find_submitters(on.course, lab, on.term) if len(students) > 1 else {}
            rows = read_recorded(writer.gradebook, lab, students)
            found = [writer.prepare_task(student, rows.get(student)) for student in students]
            tasks = [each for each in found if isinstance(each, Task)]
            self.since[arrival.folder] = monotonic()
            self.running |= {(lab, task.student): arrival for task in tasks}
            for each in found:
                if isinstance(each, GradingOutcome):
                    self._done(arrival, each)
            self._release(arrival)
        except Exception as error:
            self.running = {key: other for key, other in self.running.items() if other is not arrival}
            self._report_failure(arrival, _describe_error(error))
            tasks = []
        self._close_unused(lab)
        return tasks

    def _record_outcome(self, task: Task, outcome: GradedSubmission | Failure) -> None:
        arrival = self.running.pop((task.lab, task.student))
        try:
            self._done(arrival, self.writers[task.lab].write_outcome(task, outcome))
            self._release(arrival)
        except Exception as error:
            self._report_failure(arrival, _describe_error(error))
        self._close_unused(task.lab)

    def _done(self, arrival: Arrival, done: GradingOutcome) -> None:
        """Write the mark."""
        self.writers[arrival.lab].write()
        if done.student == arrival.student:
            self.own[arrival.folder] = done
        elif done.failure:
            self.on.tell(f"{done.student} {arrival.lab}: {done.failure}")

    def _release(self, arrival: Arrival) -> None:
        """Release the page to the student who handed in, once the whole team has its marks."""
        on, lab, folder = self.on, arrival.lab, arrival.folder
        if folder not in self.own or folder in self.failed or arrival in self.running.values():
            return
        done = self.own.pop(folder)
        on.done.add(folder)
        if done.failure:
            self.ready.append(MarkedSubmission(arrival, failure=done.failure))
            return
        result = find_result(self.writers[lab].gradebook, on.course, lab, arrival.student)
        now, settings = get_utc_now(), on.get_lab_term(arrival)
        marks = read_history(on.course, lab, arrival.student)
        attempts = describe_attempts(arrival.when, marks, settings, now, on.inbox.zone)
        on.inbox.release(arrival, write_feedback([result], on.course, lab, settings.tell, attempts))
        seconds = (now - arrival.when).total_seconds()
        damaged = make_readable("; ".join(describe_notes(result.notes, len(result.notebooks)))) if done.empty else ""
        waits = result.needs_manual_grade
        self.ready.append(MarkedSubmission(arrival, result.points, result.worth, seconds, damaged=damaged, waits=waits))

    def _report_failure(self, arrival: Arrival, words: str) -> None:
        self.on.done.discard(arrival.folder)
        self.own.pop(arrival.folder, None)
        self.failed.add(arrival.folder)
        if self.on.postpone(arrival):
            self.ready.append(MarkedSubmission(arrival, failure=f"{words}\n    it is tried again later"))

    def _open_writer(self, lab: str) -> GradebookWriter:
        """Open the writer of this lab's marks, which locks the lab."""
        if lab not in self.writers:
            with ExitStack() as opening:
                writer, _ = opening.enter_context(open_class(self.on.api, lab, self.where))
                writer.cause = CAUSE
                self.writers[lab], self.open[lab] = writer, opening.pop_all()
        return self.writers[lab]

    def _close_unused(self, lab: str) -> None:
        if lab in self.open and all(lab != other for other, _ in self.running):
            self._close(lab)

    def _close(self, lab: str) -> None:
        self.writers.pop(lab, None)
        try:
            self.open.pop(lab).close()
        except GradlabError as error:
            self.on.tell(f"{lab}: {error}")

    def _take_ready(self) -> Iterator[MarkedSubmission]:
        while self.ready:
            yield self.ready.pop(0)


def _describe_error(error: Exception) -> str:
    return str(error) if isinstance(error, GradlabError) else f"{type(error).__name__}: {error}"
