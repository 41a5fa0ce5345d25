"""Where submissions go out to be graded, and results come in: the one writer of files and of the gradebook."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import nbformat

from autograder.assignments import is_stock
from autograder.digest import digest
from autograder.errors import GradlabError
from autograder.fingerprint import SUBMISSION, list_changes
from autograder.gradebook.autograded_folder import get_autograded_path, list_companion_files, write_autograded
from autograder.gradebook.past_marks import remember_mark
from autograder.gradebook.store import get_result_path, load_result, write_result
from autograder.gradebook.writer import Penalty, RecordedMarks, apply_decisions, read_recorded, record
from autograder.grading.backends import Backend, ClusterBackend
from autograder.grading.cluster import grade_on_cluster
from autograder.grading.one_submission import GradedSubmission
from autograder.grading.outcomes import GradingOutcome, find_last_error, run_guarded, write_log
from autograder.grading.pool import grade_all
from autograder.grading.stock_tasks import build_stock_task, read_stock_marks
from autograder.grading.task import Settings, Task, compute_key, compute_part_digests
from autograder.grading.worker import Failure
from autograder.intake.files import normalize_folder
from autograder.intake.read import RefusedSubmission, read_file
from autograder.intake.releases import read_release_bytes
from autograder.marks import Marks, compute_marks
from autograder.result import Result
from autograder.stock.assignment import read_assignment
from autograder.stock.settings import get_student_files
from autograder.term import Term

BATCH = 50  # submissions in one transaction of the gradebook
FEW = 100  # students whose rows alone are asked for
BATCH_SECONDS = 2.0  # after which a smaller one is written


def get_course_folder(api: Any) -> Path:
    """The folder of the course that nbgrader's API object works on."""
    return Path(api.coursedir.root)


def grade_tasks(
    tasks: Iterator[Task | None], settings: Settings, where: Backend, course: Path, stop: Event
) -> Iterator[tuple[Task, GradedSubmission | Failure]]:
    """What comes of these tasks, as it is done. None among them: nothing is there now; a cluster asks no more then."""
    if isinstance(where, ClusterBackend):
        there = iter(tasks.__next__, None)
        return grade_on_cluster(there, settings, where.address, [course], stop, where.wait)
    return grade_all(tasks, settings, where.jobs, [course], stop, where.ahead, where.pool)


class GradebookWriter:
    """by: student -> who handed in what counts for that student. running: student -> since when it is being graded, by
    time.monotonic.
    """

    def __init__(
        self,
        api: Any,
        lab: str,
        settings: Settings,
        layers: Sequence[str],
        gradebook: Any,
        penalty: Penalty,
        term: Term,
        by: Mapping[str, str],
    ) -> None:
        self.api, self.course, self.lab, self.settings, self.layers = api, get_course_folder(api), lab, settings, layers
        self.gradebook = gradebook
        self.plain = read_assignment(self.course, lab, gradebook, api.config) if is_stock(self.course, lab) else None
        self.names = [notebook.name for notebook in self.plain.notebooks] if self.plain else [lab]
        self.source = b"" if self.plain else (self.course / "source" / lab / f"{lab}.ipynb").read_bytes()
        self.releases = read_release_bytes(self.course, lab)
        self.ignore, self.own_files = list(api.coursedir.ignore), get_student_files(api.config, lab)
        self.term, self.by, self.cause = term, dict(by), "grade"
        self.running: dict[str, float] = {}
        self.left_out: Sequence[str] = ()  # whom nbgrader_config.py has left out
        self.lines: Sequence[str] = ()  # what the instructor should know of the lab
        self._penalty, self._extended = penalty, term.extended(lab)
        self._anew: dict[str, tuple[str, ...]] = {}
        self._unwritten: list[Marks] = []
        self._written = time.monotonic()
        self._aside: list[GradingOutcome] = []  # what was found out while looking for tasks

    def grade(self, students: Sequence[str], where: Backend, again: bool, stop: Event) -> Iterator[GradingOutcome]:
        """Each submission as it is done, in the order in which that happens; unless stopped, every one."""
        missing = set(students)
        for done in self._taken(self.outcomes(students, where, again, stop)):
            missing.discard(done.student)
            yield done
        if not stop.is_set():
            yield from (
                GradingOutcome(student, "it came back without a mark: run this again") for student in sorted(missing)
            )

    def outcomes(
        self, students: Sequence[str], where: Backend, again: bool, stop: Event
    ) -> Iterator[tuple[Task, GradedSubmission | Failure]]:
        """What comes of the submissions that are to be graded; nothing of it is kept."""
        few = students if len(students) <= FEW else ()
        tasks = self._iter_tasks(students, read_recorded(self.gradebook, self.lab, few), again)
        for task, outcome in grade_tasks(tasks, self.settings, where, self.course, stop):
            self.running.pop(task.student, None)
            yield task, outcome

    def _taken(self, outcomes: Iterable[tuple[Task, GradedSubmission | Failure]]) -> Iterator[GradingOutcome]:
        for task, outcome in outcomes:
            yield from self._drain_finished()
            yield run_guarded(task.student, functools.partial(self.taken, task, outcome))
        yield from self._drain_finished()

    def taken(self, task: Task, outcome: GradedSubmission | Failure) -> GradingOutcome:
        """Write what came of this task."""
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
        """The submissions that are to be graded. Those that have their result are only recorded."""
        for student in students:
            found = run_guarded(student, functools.partial(self.prepare_task, student, rows.get(student), again))
            if isinstance(found, GradingOutcome):
                self._aside.append(found)
            else:
                self.running[student] = time.monotonic()
                yield found

    def prepare_task(self, student: str, row: RecordedMarks | None, again: bool = False) -> Task | GradingOutcome:
        """What there is to grade, or what came of it before, which is recorded where the gradebook says otherwise."""
        try:
            task = self._build_task(student)
        except (OSError, RecursionError) as error:  # folders in one another, without end
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
            self._record(result, apply_decisions(self._marks(result, submitted), result, excused, before))
        return GradingOutcome(student, kept=True, empty=result.empty, stopped=bool(result.stopped))

    def _build_task(self, student: str) -> Task:
        by = self._find_submitter(student)
        folder = self.course / "submitted" / by / self.lab
        normalize_folder(folder, self.lab, self.names)
        beside = list_companion_files(self.course, self.lab, by, self.ignore, self.own_files)
        files = digest(*[self._fingerprint_file(path) for path in beside])
        if self.plain:
            return build_stock_task(self.course, self.plain, student, by, beside, files, self.settings)
        try:
            notebook, notes = read_file(folder / f"{self.lab}.ipynb")
        except RefusedSubmission as refused:
            return Task(self.lab, student, None, str(refused), (), files, self.source, self.settings)
        notes += [] if by == student else [f"Handed in by {by}, for your team."]
        return Task(
            self.lab, student, notebook, "", tuple(notes), files, self.source, self.settings, releases=self.releases
        )

    def result(self, student: str) -> Result | None:
        """The result of an earlier run, where it is whole."""
        result = self._load_document(student)
        paths = [get_autograded_path(self.course, self.lab, student, name) for name in self.names]
        return result if all(path.exists() for path in paths) else None

    def _load_document(self, student: str) -> Result | None:
        """What an earlier run found, also of notebooks that have another name now."""
        try:
            return load_result(self.course, self.lab, student)
        except GradlabError:
            return None

    def _marks(self, result: Result, submitted: Any) -> Marks:
        """Of a submission that was graded before."""
        if self.plain:
            return read_stock_marks(self.course, result, submitted)
        return compute_marks(
            result, nbformat.read(get_autograded_path(self.course, self.lab, result.student), as_version=4), submitted
        )

    def decide_marks(self, graded: GradedSubmission) -> Marks:
        """Its marks with what was decided for this student."""
        student = graded.result.student
        excused = self.term.excused(self.lab, student)
        marks = apply_decisions(graded.marks, graded.result, excused, self._load_document(student))
        return replace(marks, submitted=self._read_submitted_time(student))

    def keep(self, graded: GradedSubmission) -> GradingOutcome:
        """Write what came of a submission. The result document last: whoever finds it finds everything."""
        result, student, marks = graded.result, graded.result.student, self.decide_marks(graded)
        before = get_result_path(self.course, self.lab, student)
        permissions = 0o664 if self.api.coursedir.groupshared else 0o444
        left_out = write_autograded(
            self.course,
            self.lab,
            student,
            graded.plain or {self.lab: graded.notebook},
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
        remarks = (*result.remarks, *left_out)
        return GradingOutcome(student, empty=result.empty, stopped=stopped, anew=anew, remarks=remarks)

    def _record(self, result: Result, marks: Marks) -> None:
        points = sum(marks.scores[cell.id] or 0.0 for cell in result.cells)
        excused = self.term.excused(self.lab, result.student)
        remember_mark(self.course, result, points, marks.submitted, self.cause, excused)
        self._unwritten.append(marks)
        if len(self._unwritten) >= BATCH or time.monotonic() - self._written > BATCH_SECONDS:
            self.write()

    def _find_submitter(self, student: str) -> str:
        """Who handed in what counts for this student."""
        return self.by.get(student, student)

    def _read_submitted_time(self, student: str) -> Any:
        folder = self.course / "submitted" / self._find_submitter(student) / self.lab
        return self.api.coursedir.get_existing_timestamp(str(folder))

    def _fingerprint_file(self, path: Path) -> str:
        status = path.stat()
        return f"{path.relative_to(self.course)} {status.st_size} {status.st_mtime_ns}"

    def _report_failure(self, student: str, reason: str) -> GradingOutcome:
        """The course's or the machine's trouble: an empty submission had it too, or this one had none before."""
        if "\n" not in reason:
            return GradingOutcome(student, reason)
        log = write_log(self.course, self.lab, student, reason)
        return GradingOutcome(
            student, f"{find_last_error(reason)}\n    its mark was not touched; the whole log is {log}"
        )

    def _drain_finished(self) -> Iterator[GradingOutcome]:
        while self._aside:
            yield self._aside.pop(0)
