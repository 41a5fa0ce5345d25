"""Grades what a watch finds due, several submissions at a time.

A submission that fails affects no other: it's reported once, and tried again at growing intervals. While one takes
long, others overtake it; only one submission of a student or a team is graded at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from time import monotonic

from autograder.base.errors import GradlabError
from autograder.base.progress_bar import LONG_SECONDS
from autograder.base.text import make_readable
from autograder.base.timestamps import get_utc_now
from autograder.classroom.class_grader import ClassGrader
from autograder.classroom.grading_outcome import GradingOutcome
from autograder.classroom.grading_settings import read_settings
from autograder.classroom.open_class import open_class
from autograder.exchange.attempts import WATCH_COMMAND, describe_attempts
from autograder.exchange.collection import SubmissionChangedError, collect_submission
from autograder.gradebook.counting_submissions import find_newest_submission
from autograder.gradebook.enrolment import find_unenrolled
from autograder.gradebook.history import read_history
from autograder.gradebook.result_reader import read_result_from
from autograder.gradebook.submission_result import SubmissionResult
from autograder.gradebook.submission_rows import read_submission_rows
from autograder.grading.task import Task
from autograder.model.arrivals import Arrival
from autograder.model.marks import Mark
from autograder.model.note_sentences import describe_notes
from autograder.reports.feedback import write_feedback
from autograder.watch.watch_state import RETRIED, WatchState, describe_error, poll_inbox
from autograder.workers.executors import Executor
from autograder.workers.task_grading import TaskResult

LOOK_SECONDS = 0.2  # between two looks at the inbox: a tenth of what a mark may take
BUSY_SECONDS = 1.0  # between two looks while submissions are waiting


@dataclass(frozen=True, kw_only=True)
class ArrivalMark(Mark):
    """The mark of a submission from the exchange, whose page is where the student fetches it."""

    arrival: Arrival
    seconds: float = 0.0
    """How long ago it arrived."""


class GradingRound:
    """A round from the first due submission until nothing is being graded. It includes later arrivals."""

    def __init__(self, state: WatchState, executor: Executor, due: list[Arrival]) -> None:
        self.state, self.executor, self.due = state, executor, due
        self.last_look = monotonic()
        self.graders: dict[str, ClassGrader] = {}
        self.open: dict[str, ExitStack] = {}
        self.running: dict[tuple[str, str], Arrival] = {}  # by lab and student
        self.start_times: dict[Path, float] = {}  # of grading, by folder
        self.submitter_outcomes: dict[Path, GradingOutcome] = {}  # by folder, until the whole team is graded
        self.failed: set[Path] = set()
        self.ready: list[ArrivalMark] = []

    def run(self) -> Iterator[ArrivalMark]:
        """Grade until nothing is being graded, and yield each submission when its page is released."""
        try:
            for task, outcome in self._iter_outcomes():
                self._record_outcome(task, outcome)
                yield from self._drain_ready()
        except GradlabError as error:  # from the pool or the cluster, not from a submission
            self.state.report_once(str(error))
            for arrival in self.running.values():
                self.state.postpone(arrival, str(error))
        finally:
            for lab in list(self.open):
                self._close(lab)
        yield from self._drain_ready()

    def _iter_outcomes(self) -> Iterator[tuple[Task, TaskResult]]:
        settings = read_settings(self.state.nbgrader.config, self.executor.choose_device())
        return self.executor.grade(self._iter_tasks(), settings, [self.state.course], self.state.stop)

    def _iter_tasks(self) -> Iterator[Task | None]:
        while not self.state.stop.is_set():
            arrival = self._choose_next()
            self._report_slow()
            if arrival is None:
                yield None
            else:
                yield from self._start_grading(arrival)

    def _choose_next(self) -> Arrival | None:
        if monotonic() - self.last_look > (BUSY_SECONDS if self.due else LOOK_SECONDS):
            running = {arrival.folder for arrival in self.running.values()}
            self.due = [arrival for arrival in poll_inbox(self.state) if arrival.folder not in running]
            self.last_look = monotonic()
        busy = {student for _, student in self.running}
        arrival = next((due for due in self.due if busy.isdisjoint(self.state.list_members(due))), None)
        if arrival is not None:
            self.due.remove(arrival)
            self.state.record_turn(arrival)
        return arrival

    def _report_slow(self) -> None:
        for arrival in self.running.values():
            if monotonic() - self.start_times[arrival.folder] > LONG_SECONDS:
                self.state.report_once(
                    f"{arrival.student} {arrival.lab}: this is taking long; others are marked meanwhile"
                )

    def _start_grading(self, arrival: Arrival) -> list[Task]:
        """Prepare the tasks of this submission, one for each member of its team."""
        lab, state = arrival.lab, self.state
        try:
            collect_submission(arrival, state.course)
        except OSError as error:
            state.forget(arrival)
            if not isinstance(error, SubmissionChangedError):
                self._report_failure(arrival, f"it can't be copied: {error}")
            return []
        try:
            grader = self._open_grader(lab)
        except Exception as error:
            reason = describe_error(state.course, lab, error)
            state.report_once(f"{lab}: {reason}")
            state.postpone(arrival, reason)
            return []
        self.failed.discard(arrival.folder)
        try:
            students = state.list_members(arrival)
            for student in find_unenrolled(grader.gradebook, students):
                state.report_once(f"{make_readable(student)} is not on the roster (gradlab roster adds students)")
            if newest := find_newest_submission(state.course, lab, students):
                grader.update_counting(dict.fromkeys(students, newest))
            rows = read_submission_rows(grader.gradebook, lab, students)
            prepared = [grader.prepare_task(student, rows.get(student)) for student in students]
            tasks = [task for task in prepared if isinstance(task, Task)]
            self.start_times[arrival.folder] = monotonic()
            self.running |= {(lab, task.student): arrival for task in tasks}
            for outcome in prepared:
                if isinstance(outcome, GradingOutcome):
                    self._remember_outcome(arrival, outcome)
            self._release_if_complete(arrival)
        except Exception as error:
            self.running = {key: other for key, other in self.running.items() if other is not arrival}
            self._report_failure(arrival, describe_error(state.course, lab, error))
            tasks = []
        self._close_unused(lab)
        return tasks

    def _record_outcome(self, task: Task, outcome: TaskResult) -> None:
        arrival = self.running.pop((task.lab, task.student))
        try:
            self._remember_outcome(arrival, self.graders[task.lab].write_task_result(task, outcome))
            self._release_if_complete(arrival)
        except Exception as error:
            self._report_failure(arrival, describe_error(self.state.course, task.lab, error))
        self._close_unused(task.lab)

    def _remember_outcome(self, arrival: Arrival, outcome: GradingOutcome) -> None:
        self.graders[arrival.lab].flush()
        if outcome.student == arrival.student:
            self.submitter_outcomes[arrival.folder] = outcome
        elif outcome.failure:
            self.state.report_once(f"{outcome.student} {arrival.lab}: {outcome.failure}")

    def _release_if_complete(self, arrival: Arrival) -> None:
        """Release the page to the student who submitted it, once the whole team has its marks."""
        if not self._is_complete(arrival):
            return
        outcome = self.submitter_outcomes.pop(arrival.folder)
        self.state.finish(arrival)
        if outcome.failure:
            self.ready.append(ArrivalMark(arrival=arrival, reason=outcome.failure))
            return
        gradebook = self.graders[arrival.lab].gradebook
        result = read_result_from(gradebook, self.state.course, arrival.lab, arrival.student)
        now = get_utc_now()
        self._release_page(arrival, result, now)
        if self.state.presence:
            self.state.presence.record_problem("")
        self.ready.append(_build_mark(arrival, result, outcome.unreadable, now))

    def _is_complete(self, arrival: Arrival) -> bool:
        is_marked = arrival.folder in self.submitter_outcomes and arrival.folder not in self.failed
        return is_marked and arrival not in self.running.values()

    def _release_page(self, arrival: Arrival, result: SubmissionResult, now: datetime) -> None:
        state, lab = self.state, arrival.lab
        settings, marks = state.get_lab_term(arrival), read_history(state.course, lab, arrival.student)
        attempts = describe_attempts(arrival.submitted, marks, settings, now, state.inbox.zone)
        state.inbox.release_pages(arrival, write_feedback([result], state.course, lab, settings.tell, attempts))

    def _report_failure(self, arrival: Arrival, reason: str) -> None:
        self.submitter_outcomes.pop(arrival.folder, None)
        self.failed.add(arrival.folder)
        if self.state.postpone(arrival, reason):
            self.ready.append(ArrivalMark(arrival=arrival, reason=f"{reason}\n    {RETRIED}"))

    def _open_grader(self, lab: str) -> ClassGrader:
        """Open this lab's grader, which locks the lab."""
        if lab not in self.graders:
            with ExitStack() as stack:
                opened = stack.enter_context(open_class(self.state.nbgrader, lab, self.executor, command=WATCH_COMMAND))
                self.graders[lab], self.open[lab] = opened.grader, stack.pop_all()
        return self.graders[lab]

    def _close_unused(self, lab: str) -> None:
        if lab in self.open and all(lab != other for other, _ in self.running):
            self._close(lab)

    def _close(self, lab: str) -> None:
        self.graders.pop(lab, None)
        try:
            self.open.pop(lab).close()
        except GradlabError as error:
            self.state.report_once(f"{lab}: {error}")

    def _drain_ready(self) -> Iterator[ArrivalMark]:
        while self.ready:
            yield self.ready.pop(0)


def _build_mark(arrival: Arrival, result: SubmissionResult, was_unreadable: bool, now: datetime) -> ArrivalMark:
    notes = describe_notes(result.notes, len(result.notebooks)) if was_unreadable else ()
    return ArrivalMark(
        result.points,
        result.worth,
        result.needs_manual_grade,
        reason=make_readable("; ".join(notes)),
        arrival=arrival,
        seconds=(now - arrival.submitted).total_seconds(),
    )
