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

from autograder.digest import digest
from autograder.errors import GradlabError
from autograder.gradebook.autograded import autograded_path, files_beside, write_autograded
from autograder.gradebook.past_marks import remember_mark
from autograder.gradebook.store import load_result, result_path, write_result
from autograder.gradebook.writer import Marks, Penalty, Recorded, decided, marks_of, record, recorded
from autograder.grading.cluster import grade_on_cluster
from autograder.grading.one_submission import Graded
from autograder.grading.outcomes import Done, last_error, spared, write_log
from autograder.grading.plain_class import marks_again, plain_task
from autograder.grading.pool import grade_all
from autograder.grading.task import SUBMISSION, Settings, Task, changed_since, key_of, made_of
from autograder.grading.where import Cluster, Where
from autograder.grading.worker import Failure
from autograder.intake.files import settle
from autograder.intake.read import Refused, read_file
from autograder.intake.releases import releases_of
from autograder.plain.assignment import is_plain, read_assignment
from autograder.plain.stock_settings import own_files
from autograder.result import Result
from autograder.term import Term

BATCH = 50  # submissions in one transaction of the gradebook
FEW = 100  # students whose rows alone are asked for
BATCH_SECONDS = 2.0  # after which a smaller one is written


def course_of(api: Any) -> Path:
    """The folder of the course that nbgrader's API object works on."""
    return Path(api.coursedir.root)


def graded_there(
    tasks: Iterator[Task | None], settings: Settings, where: Where, course: Path, stop: Event
) -> Iterator[tuple[Task, Graded | Failure]]:
    """What comes of these tasks, as it is done. None among them: nothing is there now; a cluster asks no more then."""
    if isinstance(where, Cluster):
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
        self.api, self.course, self.lab, self.settings, self.layers = api, course_of(api), lab, settings, layers
        self.gradebook = gradebook
        self.plain = read_assignment(self.course, lab, gradebook, api.config) if is_plain(self.course, lab) else None
        self.names = [notebook.name for notebook in self.plain.notebooks] if self.plain else [lab]
        self.source = b"" if self.plain else (self.course / "source" / lab / f"{lab}.ipynb").read_bytes()
        self.releases = releases_of(self.course, lab)
        self.ignore, self.own_files = list(api.coursedir.ignore), own_files(api.config, lab)
        self.term, self.by, self.cause = term, dict(by), "grade"
        self.running: dict[str, float] = {}
        self.left_out: Sequence[str] = ()  # whom nbgrader_config.py has left out
        self.lines: Sequence[str] = ()  # what the instructor should know of the lab
        self._penalty, self._extended = penalty, term.extended(lab)
        self._anew: dict[str, tuple[str, ...]] = {}
        self._unwritten: list[Marks] = []
        self._written = time.monotonic()
        self._aside: list[Done] = []  # what was found out while looking for tasks

    def grade(self, students: Sequence[str], where: Where, again: bool, stop: Event) -> Iterator[Done]:
        """Each submission as it is done, in the order in which that happens; unless stopped, every one."""
        missing = set(students)
        for done in self._taken(self.outcomes(students, where, again, stop)):
            missing.discard(done.student)
            yield done
        if not stop.is_set():
            yield from (Done(student, "it came back without a mark: run this again") for student in sorted(missing))

    def outcomes(
        self, students: Sequence[str], where: Where, again: bool, stop: Event
    ) -> Iterator[tuple[Task, Graded | Failure]]:
        """What comes of the submissions that are to be graded; nothing of it is kept."""
        few = students if len(students) <= FEW else ()
        tasks = self._tasks(students, recorded(self.gradebook, self.lab, few), again)
        for task, outcome in graded_there(tasks, self.settings, where, self.course, stop):
            self.running.pop(task.student, None)
            yield task, outcome

    def _taken(self, outcomes: Iterable[tuple[Task, Graded | Failure]]) -> Iterator[Done]:
        for task, outcome in outcomes:
            yield from self._take_aside()
            yield spared(task.student, functools.partial(self.taken, task, outcome))
        yield from self._take_aside()

    def taken(self, task: Task, outcome: Graded | Failure) -> Done:
        """Write what came of this task."""
        if isinstance(outcome, Failure):
            return self._failed(task.student, outcome.reason)
        if not outcome.trouble:
            return self.keep(outcome)
        before = self.result(task.student)
        made = made_of(task, self.layers)
        if before and not before.empty and before.made_of.get(SUBMISSION) == made[SUBMISSION]:
            return self._failed(task.student, outcome.trouble)  # a mark of this very submission is worth more than 0
        log = write_log(self.course, self.lab, task.student, outcome.trouble)
        remark = f"grading it raised {last_error(outcome.trouble)}: it counts as empty; the whole log is {log}"
        done = self.keep(outcome)
        return replace(done, remarks=(*done.remarks, remark))

    def write(self) -> None:
        """Write the marks that are not in the gradebook yet."""
        if self._unwritten:
            record(self.gradebook, self.lab, self._unwritten, self._penalty, self._extended)
        self._unwritten, self._written = [], time.monotonic()

    def _tasks(self, students: Iterable[str], rows: Mapping[str, Recorded], again: bool) -> Iterator[Task]:
        """The submissions that are to be graded. Those that have their result are only recorded."""
        for student in students:
            found = spared(student, functools.partial(self.look_at, student, rows.get(student), again))
            if isinstance(found, Done):
                self._aside.append(found)
            else:
                self.running[student] = time.monotonic()
                yield found

    def look_at(self, student: str, row: Recorded | None, again: bool = False) -> Task | Done:
        """What there is to grade, or what came of it before, which is recorded where the gradebook says otherwise."""
        try:
            task = self._task(student)
        except (OSError, RecursionError) as error:  # folders in one another, without end
            return Done(student, f"its folder cannot be read or put in order: {error}")
        result = None if again else self.result(student)
        if result is None:
            return task
        if result.key != key_of(task, self.layers):
            self._anew[student] = changed_since(result, task, self.layers)
            return replace(task, kept=result.cells)
        submitted, excused = self._submitted(student), self.term.excused(self.lab, student)
        if row is None or not row.agrees(result, submitted, excused):
            before = result if row and submitted in (None, row.submitted) else None
            self._record(result, decided(self._marks(result, submitted), result, excused, before))
        return Done(student, kept=True, empty=result.empty, stopped=bool(result.stopped))

    def _task(self, student: str) -> Task:
        by = self._by(student)
        folder = self.course / "submitted" / by / self.lab
        settle(folder, self.lab, self.names)
        beside = files_beside(self.course, self.lab, by, self.ignore, self.own_files)
        files = digest(*[self._look_of(path) for path in beside])
        if self.plain:
            return plain_task(self.course, self.plain, student, by, beside, files, self.settings)
        try:
            notebook, notes = read_file(folder / f"{self.lab}.ipynb")
        except Refused as refused:
            return Task(self.lab, student, None, str(refused), (), files, self.source, self.settings)
        notes += [] if by == student else [f"Handed in by {by}, for your team."]
        return Task(
            self.lab, student, notebook, "", tuple(notes), files, self.source, self.settings, releases=self.releases
        )

    def result(self, student: str) -> Result | None:
        """The result of an earlier run, where it is whole."""
        result = self._document(student)
        paths = [autograded_path(self.course, self.lab, student, name) for name in self.names]
        return result if all(path.exists() for path in paths) else None

    def _document(self, student: str) -> Result | None:
        """What an earlier run found, also of notebooks that have another name now."""
        try:
            return load_result(self.course, self.lab, student)
        except GradlabError:
            return None

    def _marks(self, result: Result, submitted: Any) -> Marks:
        """Of a submission that was graded before."""
        if self.plain:
            return marks_again(self.course, result, submitted)
        return marks_of(
            result, nbformat.read(autograded_path(self.course, self.lab, result.student), as_version=4), submitted
        )

    def decided(self, graded: Graded) -> Marks:
        """Its marks with what was decided for this student."""
        student = graded.result.student
        excused = self.term.excused(self.lab, student)
        marks = decided(graded.marks, graded.result, excused, self._document(student))
        return replace(marks, submitted=self._submitted(student))

    def keep(self, graded: Graded) -> Done:
        """Write what came of a submission. The result document last: whoever finds it finds everything."""
        result, student, marks = graded.result, graded.result.student, self.decided(graded)
        before = result_path(self.course, self.lab, student)
        permissions = 0o664 if self.api.coursedir.groupshared else 0o444
        left_out = write_autograded(
            self.course,
            self.lab,
            student,
            graded.plain or {self.lab: graded.notebook},
            self.ignore,
            permissions,
            self._by(student),
            self.own_files,
            before=lambda: before.unlink(missing_ok=True),  # until then the mark is as it was
        )
        write_result(self.course, result)
        self._record(result, marks)
        anew = self._anew.pop(student, ())
        stopped = bool(result.stopped)
        remarks = (*result.remarks, *left_out)
        return Done(student, empty=result.empty, stopped=stopped, anew=anew, remarks=remarks)

    def _record(self, result: Result, marks: Marks) -> None:
        points = sum(marks.scores[cell.id] or 0.0 for cell in result.cells)
        excused = self.term.excused(self.lab, result.student)
        remember_mark(self.course, result, points, marks.submitted, self.cause, excused)
        self._unwritten.append(marks)
        if len(self._unwritten) >= BATCH or time.monotonic() - self._written > BATCH_SECONDS:
            self.write()

    def _by(self, student: str) -> str:
        """Who handed in what counts for this student."""
        return self.by.get(student, student)

    def _submitted(self, student: str) -> Any:
        folder = self.course / "submitted" / self._by(student) / self.lab
        return self.api.coursedir.get_existing_timestamp(str(folder))

    def _look_of(self, path: Path) -> str:
        status = path.stat()
        return f"{path.relative_to(self.course)} {status.st_size} {status.st_mtime_ns}"

    def _failed(self, student: str, reason: str) -> Done:
        """The course's or the machine's trouble: an empty submission had it too, or this one had none before."""
        if "\n" not in reason:
            return Done(student, reason)
        log = write_log(self.course, self.lab, student, reason)
        return Done(student, f"{last_error(reason)}\n    its mark was not touched; the whole log is {log}")

    def _take_aside(self) -> Iterator[Done]:
        while self._aside:
            yield self._aside.pop(0)
