"""Marks submissions as they arrive in the exchange: collects, grades, records the mark and releases the page.

Its state is in submitted/, results/, the gradebook and the exchange's feedback folder, so a watch that was killed
continues where it was. The fork server and its workers keep running, so a mark needs no imports.

A submission that fails affects no other: it's reported once, and tried again at growing intervals. While one takes
long, others overtake it; only one submission of a student or a team is graded at a time.
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
from autograder.gradebook.history import read_history
from autograder.gradebook.reader import find_result
from autograder.gradebook.writer import read_recorded
from autograder.grading.lab_submission import GradedSubmission
from autograder.grading.task import Task
from autograder.model.arrivals import Arrival
from autograder.model.assignments import list_assignments
from autograder.model.note_sentences import describe_notes
from autograder.model.term import read_term
from autograder.reports.feedback import write_feedback
from autograder.watch.watch_state import RETRIED, WatchState, describe_leftovers, find_due_arrivals
from autograder.workers.executors import Executor
from autograder.workers.worker import Failure

LOOK_SECONDS = 0.2  # between two looks at the inbox: a tenth of what a mark may take
BUSY_SECONDS = 1.0  # between two looks while submissions are waiting


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
    """Why it counts as empty."""
    waits: bool = False
    """Whether a person still has to read some of it."""


def watch(
    nbgrader: NbgraderCourse,
    labs: Sequence[str],
    executor: Executor,
    report: Callable[[str], None],
    stop: Event,
    once: bool = False,
    newest: bool = False,
) -> Iterator[MarkedSubmission]:
    """Mark what arrives until stopped, and yield each submission when its page is released.

    Args:
        executor: Grades the submissions.
        report: Called with what isn't marked, and why.
        stop: Set to end.
        once: Whether to end when nothing is left to mark.
        newest: Whether to mark every student's newest submission, whatever limits term.toml sets.

    Raises:
        GradlabError: If the course has no exchange.
    """
    state = WatchState(nbgrader, labs, open_inbox(nbgrader), report, stop, read_term(nbgrader.root), newest)
    for line in state.inbox.describe_unplaced(list_assignments(state.course)):
        state.report_once(line)
    while not stop.is_set():
        due = find_due_arrivals(state)
        if due:
            yield from _GradingRound(state, executor, due).run()
        elif once:
            for line in describe_leftovers(state):
                state.report_once(line)
            return
        else:
            stop.wait(LOOK_SECONDS)


class _GradingRound:
    """A round from the first due submission until nothing is being graded. It includes later arrivals."""

    def __init__(self, state: WatchState, executor: Executor, due: list[Arrival]) -> None:
        self.state, self.executor, self.due = state, executor, due
        self.last_look = monotonic()
        self.writers: dict[str, GradebookWriter] = {}
        self.open: dict[str, ExitStack] = {}
        self.running: dict[tuple[str, str], Arrival] = {}  # by lab and student
        self.start_times: dict[Path, float] = {}  # of grading, by folder
        self.submitter_outcomes: dict[Path, GradingOutcome] = {}  # by folder, until the whole team is graded
        self.failed: set[Path] = set()
        self.ready: list[MarkedSubmission] = []

    def run(self) -> Iterator[MarkedSubmission]:
        """Grade until nothing is being graded, and yield each submission when its page is released."""
        try:
            for task, outcome in self._iter_outcomes():
                self._record_outcome(task, outcome)
                yield from self._drain_ready()
        except GradlabError as error:  # from the pool or the cluster, not from a submission
            self.state.report_once(str(error))
            for arrival in self.running.values():
                self.state.postpone(arrival)
        finally:
            for lab in list(self.open):
                self._close(lab)
        yield from self._drain_ready()

    def _iter_outcomes(self) -> Iterator[tuple[Task, GradedSubmission | Failure]]:
        settings = read_settings(self.state.nbgrader.config, self.executor.device)
        return self.executor.grade(self._iter_tasks(), settings, [self.state.course], self.state.stop)

    def _iter_tasks(self) -> Iterator[Task | None]:
        while not self.state.stop.is_set():
            arrival = self._choose_next()
            self._report_slow()
            if arrival is None:
                yield None
            else:
                yield from self._prepare_tasks(arrival)

    def _choose_next(self) -> Arrival | None:
        if monotonic() - self.last_look > (BUSY_SECONDS if self.due else LOOK_SECONDS):
            running = {arrival.folder for arrival in self.running.values()}
            self.due = [arrival for arrival in find_due_arrivals(self.state) if arrival.folder not in running]
            self.last_look = monotonic()
        busy = {student for _, student in self.running}
        arrival = next((due for due in self.due if busy.isdisjoint(self.state.list_members(due))), None)
        if arrival is not None:
            self.due.remove(arrival)
            self.state.turns[arrival.student] += 1
        return arrival

    def _report_slow(self) -> None:
        for arrival in self.running.values():
            if monotonic() - self.start_times[arrival.folder] > LONG_SECONDS:
                self.state.report_once(
                    f"{arrival.student} {arrival.lab}: this is taking long; others are marked meanwhile"
                )

    def _prepare_tasks(self, arrival: Arrival) -> list[Task]:
        """Prepare the tasks of this submission, one for each member of its team."""
        lab, state = arrival.lab, self.state
        try:
            collect_submission(arrival, state.course)
        except OSError as error:
            state.memory.arrivals.pop(arrival.folder.name, None)  # another folder may have this name by now
            if not isinstance(error, ChangedError):
                self._report_failure(arrival, f"it can't be copied: {error}")
            return []
        try:
            writer = self._open_writer(lab)
        except Exception as error:
            state.report_once(f"{lab}: {_describe_error(error)}")
            state.postpone(arrival)
            return []
        self.failed.discard(arrival.folder)
        try:
            students = state.list_members(arrival)
            for student in find_strangers(writer.gradebook, students):
                state.report_once(f"{make_readable(student)} is not on the roster (gradlab roster adds students)")
            writer.submitters |= find_submitters(state.course, lab, state.term) if len(students) > 1 else {}
            rows = read_recorded(writer.gradebook, lab, students)
            prepared = [writer.prepare_task(student, rows.get(student)) for student in students]
            tasks = [task for task in prepared if isinstance(task, Task)]
            self.start_times[arrival.folder] = monotonic()
            self.running |= {(lab, task.student): arrival for task in tasks}
            for outcome in prepared:
                if isinstance(outcome, GradingOutcome):
                    self._write_mark(arrival, outcome)
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
            self._write_mark(arrival, self.writers[task.lab].write_outcome(task, outcome))
            self._release(arrival)
        except Exception as error:
            self._report_failure(arrival, _describe_error(error))
        self._close_unused(task.lab)

    def _write_mark(self, arrival: Arrival, outcome: GradingOutcome) -> None:
        self.writers[arrival.lab].flush()
        if outcome.student == arrival.student:
            self.submitter_outcomes[arrival.folder] = outcome
        elif outcome.failure:
            self.state.report_once(f"{outcome.student} {arrival.lab}: {outcome.failure}")

    def _release(self, arrival: Arrival) -> None:
        """Release the page to the student who handed in, once the whole team has its marks."""
        state, lab, folder = self.state, arrival.lab, arrival.folder
        if folder not in self.submitter_outcomes or folder in self.failed or arrival in self.running.values():
            return
        outcome = self.submitter_outcomes.pop(folder)
        state.finished.add(folder)
        if outcome.failure:
            self.ready.append(MarkedSubmission(arrival, failure=outcome.failure))
            return
        result = find_result(self.writers[lab].gradebook, state.course, lab, arrival.student)
        now, settings = get_utc_now(), state.get_lab_term(arrival)
        marks = read_history(state.course, lab, arrival.student)
        attempts = describe_attempts(arrival.when, marks, settings, now, state.inbox.zone)
        state.inbox.release(arrival, write_feedback([result], state.course, lab, settings.tell, attempts))
        seconds = (now - arrival.when).total_seconds()
        damaged = make_readable("; ".join(describe_notes(result.notes, len(result.notebooks)))) if outcome.empty else ""
        waits = result.needs_manual_grade
        self.ready.append(MarkedSubmission(arrival, result.points, result.worth, seconds, damaged=damaged, waits=waits))

    def _report_failure(self, arrival: Arrival, reason: str) -> None:
        self.state.finished.discard(arrival.folder)
        self.submitter_outcomes.pop(arrival.folder, None)
        self.failed.add(arrival.folder)
        if self.state.postpone(arrival):
            self.ready.append(MarkedSubmission(arrival, failure=f"{reason}\n    {RETRIED}"))

    def _open_writer(self, lab: str) -> GradebookWriter:
        """Open the writer of this lab's marks, which locks the lab."""
        if lab not in self.writers:
            with ExitStack() as stack:
                writer, _ = stack.enter_context(open_class(self.state.nbgrader, lab, self.executor))
                writer.cause = CAUSE
                self.writers[lab], self.open[lab] = writer, stack.pop_all()
        return self.writers[lab]

    def _close_unused(self, lab: str) -> None:
        if lab in self.open and all(lab != other for other, _ in self.running):
            self._close(lab)

    def _close(self, lab: str) -> None:
        self.writers.pop(lab, None)
        try:
            self.open.pop(lab).close()
        except GradlabError as error:
            self.state.report_once(f"{lab}: {error}")

    def _drain_ready(self) -> Iterator[MarkedSubmission]:
        while self.ready:
            yield self.ready.pop(0)


def _describe_error(error: Exception) -> str:
    return str(error) if isinstance(error, GradlabError) else f"{type(error).__name__}: {error}"
