"""Hands submissions out to be graded, and keeps the results: the only writer of files and of the gradebook."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Any

from autograder.base.digest import digest
from autograder.base.errors import GradlabError
from autograder.classroom.assignment import Assignment, SubmittedFolder
from autograder.classroom.outcomes import GradingOutcome, find_last_error, run_guarded, write_log
from autograder.gradebook.autograded_folder import get_autograded_path, list_companion_files, write_autograded
from autograder.gradebook.nbgrader_course import NbgraderCourse
from autograder.gradebook.past_marks import remember_mark
from autograder.gradebook.store import get_result_path, load_result, write_result
from autograder.gradebook.writer import Penalty, RecordedMarks, apply_decisions, read_recorded, record
from autograder.intake.files import normalize_folder
from autograder.model.fingerprint import SUBMISSION, list_changes
from autograder.model.marks import Marks
from autograder.model.messages import describe_notes
from autograder.model.result import Result
from autograder.model.term import Term
from autograder.stock.settings import get_student_files
from autograder.submission.lab_submission import GradedSubmission
from autograder.submission.task import Settings, Task, compute_key, compute_part_digests
from autograder.workers.executors import Executor
from autograder.workers.worker import Failure

BATCH = 50  # submissions in one transaction of the gradebook
FEW = 100  # students, for whom only their own rows are read
BATCH_SECONDS = 2.0  # after which a smaller batch is written


class GradebookWriter:
    """Grades the submissions of one assignment and writes their marks.

    Its `running` holds when each student's grading began, by time.monotonic().

    Args:
        assignment: What is graded.
        settings: How it is graded.
        layers: The sandbox layers that submissions get.
        penalty: What lateness costs.
        term: What the instructor decided.
        by: Who handed in the submission that counts, by student.
    """

    def __init__(
        self,
        api: NbgraderCourse,
        assignment: Assignment,
        settings: Settings,
        layers: Sequence[str],
        gradebook: Any,
        penalty: Penalty,
        term: Term,
        by: Mapping[str, str],
    ) -> None:
        self.api, self.assignment, self.settings, self.layers = api, assignment, settings, layers
        self.course, self.lab, self.gradebook = assignment.course, assignment.name, gradebook
        assignment.load(gradebook, api.config)
        self.ignore, self.own_files = api.ignored, get_student_files(api.config, self.lab)
        self.term, self.by, self.cause = term, dict(by), "grade"
        self.running: dict[str, float] = {}
        self.left_out: Sequence[str] = ()  # students whom nbgrader_config.py leaves out
        self.lines: Sequence[str] = ()  # what the instructor should know of the lab
        self._penalty, self._extended = penalty, term.extended(self.lab)
        self._anew: dict[str, tuple[str, ...]] = {}
        self._unwritten: list[Marks] = []
        self._written = time.monotonic()
        self._aside: list[GradingOutcome] = []  # what was found out while looking for tasks

    def grade(self, students: Sequence[str], where: Executor, again: bool, stop: Event) -> Iterator[GradingOutcome]:
        """Grade the submissions and yield each as it's done; unless stopped, every one."""
        missing = set(students)
        for done in self._taken(self.outcomes(students, where, again, stop)):
            missing.discard(done.student)
            yield done
        if not stop.is_set():
            yield from (
                GradingOutcome(student, "it came back without a mark: run this again") for student in sorted(missing)
            )

    def outcomes(
        self, students: Sequence[str], where: Executor, again: bool, stop: Event
    ) -> Iterator[tuple[Task, GradedSubmission | Failure]]:
        """The outcomes of the submissions that have to be graded, without keeping them."""
        few = students if len(students) <= FEW else ()
        tasks = self._iter_tasks(students, read_recorded(self.gradebook, self.lab, few), again)
        for task, outcome in where.grade(tasks, self.settings, [self.course], stop):
            self.running.pop(task.student, None)
            yield task, outcome

    def _taken(self, outcomes: Iterable[tuple[Task, GradedSubmission | Failure]]) -> Iterator[GradingOutcome]:
        for task, outcome in outcomes:
            yield from self._drain_finished()
            yield run_guarded(task.student, functools.partial(self.taken, task, outcome))
        yield from self._drain_finished()

    def taken(self, task: Task, outcome: GradedSubmission | Failure) -> GradingOutcome:
        """Write the outcome of this task."""
        if isinstance(outcome, Failure):
            return self._report_failure(task.student, outcome.reason)
        if not outcome.trouble:
            return self.keep(outcome)
        before = self.result(task.student)
        made = compute_part_digests(task, self.layers)
        if before and not before.empty and before.made_of.get(SUBMISSION) == made[SUBMISSION]:
            return self._report_failure(
                task.student, outcome.trouble
            )  # a mark of this very submission is worth more than 0
        log = write_log(self.course, self.lab, task.student, outcome.trouble)
        remark = f"grading it raised {find_last_error(outcome.trouble)}: it counts as empty; the whole log is {log}"
        done = self.keep(outcome)
        return replace(done, remarks=(*done.remarks, remark))

    def write(self) -> None:
        """Write the marks that are not in the gradebook yet."""
        if self._unwritten:
            record(self.gradebook, self.lab, self._unwritten, self._penalty, self._extended)
        self._unwritten, self._written = [], time.monotonic()

    def _iter_tasks(self, students: Iterable[str], rows: Mapping[str, RecordedMarks], again: bool) -> Iterator[Task]:
        """The submissions that have to be graded. Those that have their result are only recorded."""
        for student in students:
            found = run_guarded(student, functools.partial(self.prepare_task, student, rows.get(student), again))
            if isinstance(found, GradingOutcome):
                self._aside.append(found)
            else:
                self.running[student] = time.monotonic()
                yield found

    def prepare_task(self, student: str, row: RecordedMarks | None, again: bool = False) -> Task | GradingOutcome:
        """What there is to grade, or its earlier outcome, which is recorded if the gradebook says otherwise."""
        try:
            task = self._build_task(student)
        except (OSError, RecursionError) as error:  # folders nested without end
            return GradingOutcome(student, f"its folder cannot be read or put in order: {error}")
        result = None if again else self.result(student)
        if result is None:
            return task
        if result.key != compute_key(task, self.layers):
            self._anew[student] = list_changes(result, compute_part_digests(task, self.layers))
            return replace(task, kept=result.cells)
        submitted, excused = self._read_submitted_time(student), self.term.excused(self.lab, student)
        if row is None or not row.is_up_to_date(result, submitted, excused):
            before = result if row and submitted in (None, row.submitted) else None
            marks = self.assignment.read_marks(result, submitted)
            self._record(result, apply_decisions(marks, result, excused, before))
        return GradingOutcome(student, kept=True, empty=result.empty, stopped=bool(result.stopped))

    def _build_task(self, student: str) -> Task:
        by = self._find_submitter(student)
        folder = self.course / "submitted" / by / self.lab
        normalize_folder(folder, self.lab, list(self.assignment.notebook_names))
        files = list_companion_files(self.course, self.lab, by, self.ignore, self.own_files)
        files_digest = digest(*[self._fingerprint_file(path) for path in files])
        return self.assignment.build_task(SubmittedFolder(student, by, folder, files, files_digest), self.settings)

    def result(self, student: str) -> Result | None:
        """The result of an earlier run, if it's complete."""
        result = self._load_document(student)
        paths = [get_autograded_path(self.course, self.lab, student, name) for name in self.assignment.notebook_names]
        return result if all(path.exists() for path in paths) else None

    def _load_document(self, student: str) -> Result | None:
        """The result document of an earlier run, whose notebooks may have had other names."""
        try:
            return load_result(self.course, self.lab, student)
        except GradlabError:
            return None

    def decide_marks(self, graded: GradedSubmission) -> Marks:
        """The submission's marks, with the instructor's decisions for this student."""
        student = graded.result.student
        excused = self.term.excused(self.lab, student)
        marks = apply_decisions(graded.marks, graded.result, excused, self._load_document(student))
        return replace(marks, submitted=self._read_submitted_time(student))

    def keep(self, graded: GradedSubmission) -> GradingOutcome:
        """Write what came of a submission, the result document last: if it's there, everything is."""
        result, student, marks = graded.result, graded.result.student, self.decide_marks(graded)
        before = get_result_path(self.course, self.lab, student)
        permissions = 0o664 if self.api.is_group_shared else 0o444
        left_out = write_autograded(
            self.course,
            self.lab,
            student,
            graded.notebooks,
            self.ignore,
            permissions,
            self._find_submitter(student),
            self.own_files,
            before=lambda: before.unlink(missing_ok=True),  # until then the mark is as it was
        )
        write_result(self.course, result)
        self._record(result, marks)
        anew = self._anew.pop(student, ())
        stopped = bool(result.stopped)
        remarks = (*describe_notes(result.remarks, len(result.notebooks)), *left_out)
        return GradingOutcome(student, empty=result.empty, stopped=stopped, anew=anew, remarks=remarks)

    def _record(self, result: Result, marks: Marks) -> None:
        points = sum(marks.scores[cell.id] or 0.0 for cell in result.cells)
        excused = self.term.excused(self.lab, result.student)
        remember_mark(self.course, result, points, marks.submitted, self.cause, excused)
        self._unwritten.append(marks)
        if len(self._unwritten) >= BATCH or time.monotonic() - self._written > BATCH_SECONDS:
            self.write()

    def _find_submitter(self, student: str) -> str:
        """Who handed in the submission that counts for this student."""
        return self.by.get(student, student)

    def _read_submitted_time(self, student: str) -> datetime | None:
        folder = self.course / "submitted" / self._find_submitter(student) / self.lab
        return self.api.read_timestamp(folder)

    def _fingerprint_file(self, path: Path) -> str:
        status = path.stat()
        return f"{path.relative_to(self.course)} {status.st_size} {status.st_mtime_ns}"

    def _report_failure(self, student: str, reason: str) -> GradingOutcome:
        """Report a fault of the course or the machine: an empty submission failed too, or this one didn't before."""
        if "\n" not in reason:
            return GradingOutcome(student, reason)
        log = write_log(self.course, self.lab, student, reason)
        return GradingOutcome(
            student, f"{find_last_error(reason)}\n    its mark was not touched; the whole log is {log}"
        )

    def _drain_finished(self) -> Iterator[GradingOutcome]:
        while self._aside:
            yield self._aside.pop(0)
