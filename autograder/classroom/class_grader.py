"""Gives submissions to an executor and writes the results: the only writer of files and of the gradebook."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from autograder.base.stop_request import StopRequest
from autograder.classroom.assignment import Assignment
from autograder.classroom.grading_outcome import GradingOutcome, find_last_error, run_guarded, write_log
from autograder.classroom.submitted_folder import read_folder
from autograder.gradebook.autograded_folder import CopyRules, get_autograded_path, write_autograded
from autograder.gradebook.counting_submissions import CountingSubmission
from autograder.gradebook.history import remember_mark
from autograder.gradebook.mark_decisions import apply_decisions
from autograder.gradebook.nbgrader_course import NbgraderCourse
from autograder.gradebook.result_backups import forget_written_results, load_written_result, set_aside_result
from autograder.gradebook.result_documents import find_document, write_document
from autograder.gradebook.submission_folders import get_submitted_path
from autograder.gradebook.submission_rows import SubmissionRow, read_submission_rows
from autograder.gradebook.writer import Penalty, write_marks
from autograder.grading.lab_submission import GradedSubmission
from autograder.grading.task import GradingSettings, Task, compute_key, compute_part_digests
from autograder.model.fingerprint import SUBMISSION, list_changes
from autograder.model.marks import MarkSheet
from autograder.model.note_sentences import describe_notes
from autograder.model.result import ResultDocument
from autograder.model.term import Term
from autograder.workers.executors import Executor
from autograder.workers.task_grading import GradingFailure, TaskResult

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

BATCH = 50  # submissions in one transaction of the gradebook
MAX_SELECTED = 100  # students; up to that many, only their own rows are read
BATCH_SECONDS = 2.0  # after which a smaller batch is written


@dataclass(frozen=True)
class ClassPolicy:
    """What affects marks besides the checks."""

    term: Term
    """The instructor's decisions."""
    penalty: Penalty
    """What lateness costs."""
    counting: Mapping[str, CountingSubmission]
    """The submission that counts, by student."""


class ClassGrader:
    """Grades the submissions of one assignment and writes their marks.

    Its `running` holds when each student's grading began, by time.monotonic().

    Args:
        assignment: The assignment to grade.
        settings: How to grade it.
        layers: The sandbox layers that submissions get.
        policy: What affects marks besides the checks.
        command: The command that grades, for the history.
    """

    def __init__(
        self,
        nbgrader: NbgraderCourse,
        assignment: Assignment,
        settings: GradingSettings,
        layers: Sequence[str],
        gradebook: Gradebook,
        policy: ClassPolicy,
        command: str,
    ) -> None:
        self.nbgrader, self.assignment = nbgrader, assignment
        self.settings, self.layers = settings, layers
        self.course, self.lab, self.gradebook = assignment.course, assignment.name, gradebook
        assignment.load(gradebook, nbgrader.config)
        permissions = 0o664 if nbgrader.is_group_shared else 0o444
        student_files = assignment.get_student_files(nbgrader.config)
        self.copy_rules = CopyRules(nbgrader.ignored_patterns, student_files, permissions)
        self.term, self.running = policy.term, dict[str, float]()
        self._counting, self._command = dict(policy.counting), command
        self._penalty, self._extension_ends = policy.penalty, policy.term.get_extensions(self.lab)
        self._regrade_reasons: dict[str, tuple[str, ...]] = {}
        self._unwritten: list[MarkSheet] = []
        self._last_write = time.monotonic()

    def update_counting(self, counting: Mapping[str, CountingSubmission]) -> None:
        """Grade these submissions from now on, after a member of a team submitted another one."""
        self._counting |= counting

    def grade(
        self, students: Sequence[str], executor: Executor, include_current: bool, stop: StopRequest
    ) -> Iterator[GradingOutcome]:
        """Grade the submissions and yield each as it's done; every one, unless stopped.

        Args:
            include_current: Whether to grade submissions that have an up-to-date result, too.
            stop: Set it to abandon what is being graded.
        """
        missing = set(students)
        for each in self.iter_outcomes(students, executor, include_current, stop):
            if isinstance(each, GradingOutcome):
                outcome = each
            else:
                outcome = run_guarded(each[0].student, partial(self.write_task_result, *each))
            missing.discard(outcome.student)
            yield outcome
        if not stop.is_set():
            for student in sorted(missing):
                yield GradingOutcome(student, "no result was returned: run the same command again")

    def iter_outcomes(
        self, students: Sequence[str], executor: Executor, include_current: bool, stop: StopRequest
    ) -> Iterator[GradingOutcome | tuple[Task, TaskResult]]:
        """Yield each submission as it's done: an outcome if it needs no grading, else its task and unwritten result."""
        selected = students if len(students) <= MAX_SELECTED else ()
        rows = read_submission_rows(self.gradebook, self.lab, selected)
        settled: list[GradingOutcome] = []

        def iter_tasks() -> Iterator[Task]:
            for student in students:
                prepared = run_guarded(student, partial(self.prepare_task, student, rows.get(student), include_current))
                if isinstance(prepared, GradingOutcome):
                    settled.append(prepared)  # an executor takes only tasks
                else:
                    self.running[student] = time.monotonic()
                    yield prepared

        for task, outcome in executor.grade(iter_tasks(), self.settings, [self.course], stop):
            yield from settled
            settled.clear()
            self.running.pop(task.student, None)
            yield task, outcome
        yield from settled

    def write_task_result(self, task: Task, task_result: TaskResult) -> GradingOutcome:
        """Write the result of this task."""
        if isinstance(task_result, GradingFailure):
            return self._report_failure(task.student, task_result.reason)
        if not task_result.problem:
            return self.write_submission(task_result)
        before, digests = self.load_complete_result(task.student), compute_part_digests(task, self.layers)
        if before and not before.empty and before.made_of.get(SUBMISSION) == digests[SUBMISSION]:
            # An earlier mark of this very submission is worth more than 0.
            return self._report_failure(task.student, task_result.problem)
        log = write_log(self.course, self.lab, task.student, task_result.problem)
        remark = f"grading it raised {find_last_error(task_result.problem)}: it counts as empty; the whole log is {log}"
        written = self.write_submission(task_result)
        return replace(written, remarks=(*written.remarks, remark))

    def flush(self) -> None:
        """Write the marks that aren't in the gradebook yet."""
        if self._unwritten:
            write_marks(self.gradebook, self.lab, self._unwritten, self._penalty, self._extension_ends)
            forget_written_results(self.course, self.lab, [sheet.student for sheet in self._unwritten])
        self._unwritten, self._last_write = [], time.monotonic()

    def prepare_task(
        self, student: str, row: SubmissionRow | None, include_current: bool = False
    ) -> Task | GradingOutcome:
        """Return the task to grade, or the earlier outcome, which is recorded if the gradebook differs from it."""
        try:
            task = self._build_task(student)
        except (OSError, RecursionError) as error:  # folders nested without end
            return GradingOutcome(student, f"its folder cannot be read or tidied up: {error}")
        result = None if include_current else self.load_complete_result(student)
        if result is None:
            return task
        if result.key != compute_key(task, self.layers):
            self._regrade_reasons[student] = list_changes(result, compute_part_digests(task, self.layers))
            return replace(task, earlier_cells=result.cells)
        submitted, excused = self._read_submitted_time(student), self.term.get_excuses(self.lab, student)
        if row is None or not row.is_up_to_date(result, submitted, excused):
            before = result if row and submitted in (None, row.submitted) else None
            before = load_written_result(self.course, self.lab, student) or before
            marks = self.assignment.read_marks(result, submitted)
            self._queue_marks(result, apply_decisions(marks, result, excused, before))
        return replace(GradingOutcome.from_result(result), kept=True)

    def _build_task(self, student: str) -> Task:
        submitter, notebooks = self._find_submitter(student), self.assignment.notebook_names
        folder = read_folder(self.course, self.lab, student, submitter, notebooks, self.copy_rules)
        return self.assignment.build_task(folder, self.settings)

    def load_complete_result(self, student: str) -> ResultDocument | None:
        """Return the result of an earlier run, if it's complete."""
        result = find_document(self.course, self.lab, student)
        paths = [get_autograded_path(self.course, self.lab, student, name) for name in self.assignment.notebook_names]
        return result if all(path.exists() for path in paths) else None

    def decide_marks(self, graded: GradedSubmission) -> MarkSheet:
        """Return the submission's marks, with the instructor's decisions for this student."""
        student = graded.result.student
        excused = self.term.get_excuses(self.lab, student)
        before = load_written_result(self.course, self.lab, student) or find_document(self.course, self.lab, student)
        marks = apply_decisions(graded.marks, graded.result, excused, before)
        return replace(marks, submitted=self._read_submitted_time(student))

    def write_submission(self, graded: GradedSubmission) -> GradingOutcome:
        """Write a graded submission, the result document last: if it exists, so does everything else."""
        result, student, marks = graded.result, graded.result.student, self.decide_marks(graded)
        not_copied = write_autograded(
            self.course,
            self.lab,
            student,
            graded.notebooks,
            self.copy_rules,
            self._find_submitter(student),
            before_replace=partial(set_aside_result, self.course, self.lab, student),
        )
        write_document(self.course, result)
        self._queue_marks(result, marks)
        reasons = self._regrade_reasons.pop(student, ())
        remarks = (*describe_notes(result.remarks, len(result.notebooks)), *not_copied)
        return replace(GradingOutcome.from_result(result), regrade_reasons=reasons, remarks=remarks)

    def _queue_marks(self, result: ResultDocument, marks: MarkSheet) -> None:
        points = sum(marks.scores[cell.id] or 0.0 for cell in result.cells)
        excused = self.term.get_excuses(self.lab, result.student)
        remember_mark(self.course, result, points, marks.submitted, self._command, excused)
        self._unwritten.append(marks)
        if len(self._unwritten) >= BATCH or time.monotonic() - self._last_write > BATCH_SECONDS:
            self.flush()

    def _find_submitter(self, student: str) -> str:
        """Return whose submission counts for this student."""
        return self._counting[student].submitter if student in self._counting else student

    def _read_submitted_time(self, student: str) -> datetime | None:
        return self.nbgrader.read_timestamp(get_submitted_path(self.course, self.lab, self._find_submitter(student)))

    def _report_failure(self, student: str, reason: str) -> GradingOutcome:
        """Report a fault of the course or the machine: an empty submission failed too, or this one didn't earlier."""
        if "\n" not in reason:
            return GradingOutcome(student, reason)
        log = write_log(self.course, self.lab, student, reason)
        return GradingOutcome(
            student, f"{find_last_error(reason)}\n    its mark was not changed; the whole log is {log}"
        )
