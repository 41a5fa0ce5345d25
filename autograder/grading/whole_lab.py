"""Grades the submissions of a lab: several at a time, none of them stops the class, and what is graded stays graded."""

from __future__ import annotations

import contextlib
import fcntl
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

import nbformat
from nbgrader.preprocessors import AssignLatePenalties

from autograder.digest import digest
from autograder.errors import GradlabError
from autograder.forkserver.starting import submitted_students
from autograder.gradebook.autograded import autograded_path, files_beside, write_autograded
from autograder.gradebook.store import load_result, result_path, write_result
from autograder.gradebook.writer import Marks, Penalty, Recorded, marks_of, opened, record, recorded
from autograder.grading.cluster import grade_on_cluster, layers_on_cluster
from autograder.grading.nbgrader_api import must
from autograder.grading.one_submission import PREPROCESSORS, Graded
from autograder.grading.pool import grade_all
from autograder.grading.task import Settings, Task, key_of, settings_of
from autograder.grading.where import Cluster, ThisMachine, Where
from autograder.grading.worker import Failure
from autograder.intake.files import settle, settle_names
from autograder.intake.read import Refused, read_file
from autograder.result import Result
from autograder.sandbox import names, require

BATCH = 50  # submissions in one transaction of the gradebook
BATCH_SECONDS = 2.0  # after which a smaller one is written


@dataclass(frozen=True)
class Done:
    """A submission that was graded, or what kept the course from grading it. kept: it had been graded before."""

    student: str
    failure: str = ""
    kept: bool = False


def prepare(api: Any, course: Path, lab: str, gradebook: Any) -> None:
    """Put the lab's cells and points into the gradebook, as `nbgrader generate_assignment` does, where they changed."""
    note = course / "results" / lab / ".prepared"
    source = digest((course / "source" / lab / f"{lab}.ipynb").read_bytes(), api.coursedir.db_url)
    known = any(assignment.name == lab for assignment in gradebook.assignments)
    gradebook.db.commit()  # no transaction is open while nbgrader writes
    if not known or not note.exists() or note.read_text() != source:
        must(api.generate_assignment(lab, force=True, create=True), f"putting {lab} into the gradebook")
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(source)


def grade_lab(
    api: Any,
    lab: str,
    where: Where | None = None,
    student: str = "",
    again: bool = False,
    stop: Event | None = None,
) -> Iterator[Done]:
    """Grade every submission of the lab, or one student's, and yield each as it is done.

    api: nbgrader's, of the course. where: this machine, one submission at a time, if nothing is said. again: those too
    whose result is up to date. stop: set it to end early; what is graded by then is recorded.
    """
    where, course = where or ThisMachine(), Path(api.coursedir.root)
    source = course / "source" / lab / f"{lab}.ipynb"
    if not source.exists():
        raise GradlabError(f"no lab {lab!r} in {course}/source: run gradlab build, or check the name")
    elsewhere = isinstance(where, Cluster) and where.device != "auto"
    settings = settings_from(api.config, where.device if elsewhere else on_this_machine(where.device))
    if isinstance(where, Cluster):
        layers = layers_on_cluster(settings, where.address, [course], where.wait)
    else:
        layers = names(require(settings.isolation))
    settle_names(course / "submitted")
    students = [s for s in submitted_students(course, lab) if not student or s == student]
    if not students:
        who = f"from {student} " if student else ""
        raise GradlabError(
            f"no submission {who}in {course}/submitted/*/{lab}: collect them with nbgrader collect {lab}"
        )
    with alone(course, lab), opened(api.coursedir.db_url, api.coursedir.course_id) as gradebook:
        prepare(api, course, lab, gradebook)
        writer = GradebookWriter(api, course, lab, settings, layers, gradebook)
        try:
            yield from writer.grade(students, where, again, stop or Event())
        finally:
            writer.write()


def late_penalty(config: Any) -> Penalty:
    """What c.AssignLatePenalties in nbgrader_config.py takes off. Raises GradlabError where it does not work."""

    def refuse(error: Exception) -> GradlabError:
        words = f"{type(error).__name__}: {error}"
        return GradlabError(
            f"c.AssignLatePenalties in nbgrader_config.py does not work: {words}\n    no mark was touched"
        )

    try:
        late = AssignLatePenalties(config=config)
        late.init_plugin()
    except Exception as error:
        raise refuse(error.__cause__ if isinstance(error.__cause__, Exception) else error) from None

    def penalty(student: str, score: float, seconds: float) -> float | None:
        try:
            taken_off: float | None = late.plugin_inst.late_submission_penalty(student, score, seconds)
            return taken_off
        except Exception as error:
            raise refuse(error) from None

    return penalty


def settings_from(config: Any, device: str = "cpu") -> Settings:
    """What nbgrader_config.py says about grading."""
    names = [kind.__name__ for kind in PREPROCESSORS if kind.__name__ in config]
    preprocessors = {name: json.loads(json.dumps(config[name])) for name in names}
    return settings_of(**{**config.get("Examine", {}), "device": device, **preprocessors})


def on_this_machine(device: str) -> str:
    """The device, "auto" decided, without asking a driver. Raises GradlabError where it is not here."""
    found = sorted(Path("/dev").glob("nvidia[0-9]*"))
    if device == "auto":
        return "cuda" if found else "cpu"
    if device == "cuda" and not found:
        raise GradlabError(
            "--device cuda, and this machine has no GPU (/dev/nvidia0)\n    fix: --device cpu, or --cluster"
        )
    return device


@contextlib.contextmanager
def alone(course: Path, lab: str) -> Iterator[None]:
    """Raise GradlabError where another process grades this lab."""
    path = course / "results" / lab / ".lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # not flock: the workers would hold it too
        except OSError:
            raise GradlabError(f"another gradlab grades {lab} in {course}: wait for its end, or stop it") from None
        yield


class GradebookWriter:
    """Where submissions go out to be graded, and results come in: the one writer of files and of the gradebook."""

    def __init__(
        self, api: Any, course: Path, lab: str, settings: Settings, layers: Sequence[str], gradebook: Any
    ) -> None:
        self.api, self.course, self.lab, self.settings, self.layers = api, course, lab, settings, layers
        self.gradebook = gradebook
        self.source = (course / "source" / lab / f"{lab}.ipynb").read_bytes()
        self.ignore = list(api.coursedir.ignore)
        self._penalty = late_penalty(api.config)
        self._unwritten: list[Marks] = []
        self._written = time.monotonic()
        self._aside: list[Done] = []  # what was found out while looking for tasks

    def grade(self, students: Sequence[str], where: Where, again: bool, stop: Event) -> Iterator[Done]:
        """Each submission as it is done, in the order in which that happens; unless stopped, every one."""
        missing = set(students)
        tasks = self._tasks(students, recorded(self.gradebook, self.lab), again)
        if isinstance(where, Cluster):
            outcomes = grade_on_cluster(tasks, self.settings, where.address, [self.course], stop, where.wait)
        else:
            outcomes = grade_all(tasks, self.settings, where.jobs, [self.course], stop, where.ahead)
        for done in self._taken(outcomes):
            missing.discard(done.student)
            yield done
        if not stop.is_set():
            yield from (Done(student, "it came back without a mark: run this again") for student in sorted(missing))

    def _taken(self, outcomes: Iterable[tuple[Task, Graded | Failure]]) -> Iterator[Done]:
        for task, outcome in outcomes:
            yield from self._take_aside()
            yield self._failed(task.student, outcome.reason) if isinstance(outcome, Failure) else self._keep(outcome)
        yield from self._take_aside()

    def write(self) -> None:
        """Write the marks that are not in the gradebook yet."""
        if self._unwritten:
            record(self.gradebook, self.lab, self._unwritten, self._penalty)
        self._unwritten, self._written = [], time.monotonic()

    def _tasks(self, students: Iterable[str], rows: Mapping[str, Recorded], again: bool) -> Iterator[Task]:
        """The submissions that are to be graded. Those that have their result are only recorded."""
        for student in students:
            try:
                task = self._task(student)
            except OSError as error:
                self._aside.append(Done(student, f"its folder cannot be read or put in order: {error}"))
                continue
            result = None if again else self._result(student)
            if result is None:
                yield task
            elif result.key != key_of(task, self.layers):
                yield replace(task, kept=result.cells)
            else:
                submitted, row = self._submitted(student), rows.get(student)
                if row is None or not row.agrees(result, submitted):
                    notebook = nbformat.read(autograded_path(self.course, self.lab, student), as_version=4)
                    self._record(marks_of(result, notebook, submitted))
                self._aside.append(Done(student, kept=True))

    def _task(self, student: str) -> Task:
        folder = self.course / "submitted" / student / self.lab
        settle(folder, self.lab)
        files = digest(*[self._look_of(path) for path in files_beside(self.course, self.lab, student, self.ignore)])
        try:
            notebook, notes = read_file(folder / f"{self.lab}.ipynb")
        except Refused as refused:
            return Task(self.lab, student, None, str(refused), (), files, self.source, self.settings)
        return Task(self.lab, student, notebook, "", tuple(notes), files, self.source, self.settings)

    def _result(self, student: str) -> Result | None:
        """The result of an earlier run, where it is whole."""
        try:
            result = load_result(self.course, self.lab, student)
        except GradlabError:
            return None
        return result if autograded_path(self.course, self.lab, student).exists() else None

    def _keep(self, graded: Graded) -> Done:
        """The result document last: whoever finds it finds everything."""
        result, student = graded.result, graded.result.student
        result_path(self.course, self.lab, student).unlink(missing_ok=True)
        permissions = 0o664 if self.api.coursedir.groupshared else 0o444
        write_autograded(self.course, self.lab, student, graded.notebook, self.ignore, permissions)
        write_result(self.course, result)
        self._record(replace(graded.marks, submitted=self._submitted(student)))
        return Done(student)

    def _record(self, marks: Marks) -> None:
        self._unwritten.append(marks)
        if len(self._unwritten) >= BATCH or time.monotonic() - self._written > BATCH_SECONDS:
            self.write()

    def _submitted(self, student: str) -> Any:
        return self.api.coursedir.get_existing_timestamp(str(self.course / "submitted" / student / self.lab))

    def _look_of(self, path: Path) -> str:
        status = path.stat()
        return f"{path.relative_to(self.course)} {status.st_size} {status.st_mtime_ns}"

    def _failed(self, student: str, reason: str) -> Done:
        """A submission cannot bring it to that: this is the course's or the machine's trouble. Marks stay."""
        if "\n" not in reason:
            return Done(student, reason)
        log = self.course / "results" / self.lab / f"{student}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(reason, encoding="utf-8", errors="replace")
        return Done(student, f"{last_error(reason)}\n    its mark was not touched; the whole log is {log}")

    def _take_aside(self) -> Iterator[Done]:
        while self._aside:
            yield self._aside.pop(0)


def last_error(log: str) -> str:
    """The exception at the end of a traceback."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Exit)\b.*: ", line)]
    return (errors or lines or ["no reason was given"])[-1]
