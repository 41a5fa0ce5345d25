"""Grades the submissions of a lab, several at a time. No submission stops the class, and finished results are kept."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from threading import Event
from typing import Any

from nbgrader.preprocessors import AssignLatePenalties

from autograder.base.errors import GradlabError
from autograder.base.timestamps import COLLECT
from autograder.classroom.class_writer import GradebookWriter
from autograder.classroom.open_assignment import open_assignment
from autograder.classroom.outcomes import GradingOutcome
from autograder.classroom.preparation import prepare
from autograder.classroom.teams import find_submitters
from autograder.classroom.term_names import refuse_unknown_names
from autograder.gradebook.extensions import revoke_extensions
from autograder.gradebook.nbgrader_course import NbgraderCourse
from autograder.gradebook.writer import Penalty
from autograder.intake.files import rename_student_folders
from autograder.model.assignments import require_source, suggest_nearest
from autograder.model.term import read_term
from autograder.submission.lab_submission import read_preprocessor_settings
from autograder.submission.task import Settings, make_settings
from autograder.workers.executors import Executor, LocalExecutor


def refuse_stale(course: Path, lab: str) -> None:
    """Raise GradlabError if the lab was edited but not built: its old checks would run."""
    folder, built = course / "labs" / lab, course / "source" / lab / f"{lab}.ipynb"
    edited = [path for path in folder.rglob("*.py") if path.stat().st_mtime > built.stat().st_mtime]
    if not edited:
        return
    from autograder.authoring.course_folder import is_stale  # takes half a second, only after an edit

    if is_stale(course, lab):  # a checkout gives files any dates
        raise GradlabError(
            f"{edited[0]} was edited after source/{lab} was built\n    fix: gradlab build, and the same command"
        )


def grade_lab(
    api: NbgraderCourse,
    lab: str,
    where: Executor | None = None,
    student: str = "",
    again: bool = False,
    stop: Event | None = None,
) -> Iterator[GradingOutcome]:
    """Grade every submission of the lab, or one student's, and yield each as it's done.

    Args:
        where: Where submissions are graded; by default this machine, one at a time.
        student: Grade only this student's.
        again: Also grade submissions whose result is up to date.
        stop: Set to end early; what is graded by then is recorded.
    """
    where = where or LocalExecutor()
    with open_class(api, lab, where, student) as (writer, students):
        yield from writer.grade(students, where, again, stop or Event())


@contextlib.contextmanager
def open_class(
    api: NbgraderCourse, lab: str, where: Executor, student: str = ""
) -> Iterator[tuple[GradebookWriter, list[str]]]:
    """The writer of this lab's marks, and the students who handed it in. Any other process that opens the lab fails.

    Args:
        where: Where submissions are graded.
        student: Only this student.

    Raises:
        GradlabError: If no one handed it in, or it can't be graded here.
    """
    course = api.root
    require_source(course, lab)
    assignment = open_assignment(course, lab)
    assignment.refuse_settings(api.config)
    settings = read_settings(api.config, where.choose_device())
    settings = assignment.adjust_settings(settings, api.config)
    layers = where.find_layers(settings, [course])
    rename_student_folders(course / "submitted")
    term = read_term(course)
    by = find_submitters(course, lab, term)
    students = [each for each in sorted(by) if student in ("", each)]
    if not students:
        who = f"from {student}{suggest_nearest(student, by)} " if student else ""
        raise GradlabError(
            f"no submission {who}in {course}/submitted/*/{lab}\n    fix: {COLLECT.format(lab=quote(lab))}"
        )
    refuse_stale(course, lab)
    with lock_lab(course, lab), api.open_gradebook() as gradebook:
        refuse_unknown_names(course, lab, term, gradebook)
        lines = prepare(api, assignment, gradebook)
        revoke_extensions(course, lab, gradebook, term.extended(lab))
        left_out = assignment.list_left_out(api.config, students, gradebook)
        students = [each for each in students if each not in left_out]
        writer = GradebookWriter(api, assignment, settings, layers, gradebook, load_late_penalty(api.config), term, by)
        writer.left_out, writer.lines = left_out, lines
        try:
            yield writer, students
        finally:
            writer.write()


def load_late_penalty(config: Any) -> Penalty:
    """What c.AssignLatePenalties in nbgrader_config.py takes off. Raises GradlabError if it doesn't work."""

    def make_error(error: Exception) -> GradlabError:
        words = f"{type(error).__name__}: {error}"
        return GradlabError(
            f"c.AssignLatePenalties in nbgrader_config.py does not work: {words}\n    no mark was touched"
        )

    try:
        late = AssignLatePenalties(config=config)
        late.init_plugin()
    except Exception as error:
        raise make_error(error.__cause__ if isinstance(error.__cause__, Exception) else error) from None

    def compute_penalty(student: str, score: float, seconds: float) -> float | None:
        try:
            taken_off: float | None = late.plugin_inst.late_submission_penalty(student, score, seconds)
            return taken_off
        except Exception as error:
            raise make_error(error) from None

    return compute_penalty


def read_settings(config: Any, device: str = "cpu") -> Settings:
    """The settings for grading in nbgrader_config.py."""
    return make_settings(**{**config.get("Examine", {}), "device": device, **read_preprocessor_settings(config)})


@contextlib.contextmanager
def lock_lab(course: Path, lab: str) -> Iterator[None]:
    """Lock the lab. Raises GradlabError if another process grades it."""
    path = course / "results" / lab / ".lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # not flock: the workers would hold it too
        except OSError:
            raise GradlabError(f"another gradlab grades {lab} in {course}: wait for its end, or stop it") from None
        yield
