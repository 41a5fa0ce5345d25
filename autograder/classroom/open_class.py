"""Grades all submissions of a lab, several at a time. No submission stops the class, and finished results are kept."""

from __future__ import annotations

import contextlib
import errno
import fcntl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from threading import Event
from typing import Any

from nbgrader.preprocessors import AssignLatePenalties

from autograder.base.errors import GradlabError
from autograder.classroom.assignment_kinds import open_assignment
from autograder.classroom.class_grader import ClassGrader, ClassPolicy
from autograder.classroom.grading_outcome import GradingOutcome
from autograder.classroom.grading_settings import read_settings
from autograder.classroom.preparation import prepare_gradebook
from autograder.classroom.unknown_names import refuse_unknown_names
from autograder.gradebook.counting_submissions import find_counting_submissions
from autograder.gradebook.extensions import revoke_extensions
from autograder.gradebook.nbgrader_course import NbgraderCourse
from autograder.gradebook.writer import Penalty
from autograder.intake.folder_normalization import rename_student_folders
from autograder.model.arrivals import describe_collecting
from autograder.model.assignments import require_source, suggest_nearest
from autograder.model.term import read_term
from autograder.workers.executors import Executor, LocalExecutor

HELD = (errno.EACCES, errno.EAGAIN)  # the errors of a lock that another process holds


def refuse_stale_lab(course: Path, lab: str) -> None:
    """Raise GradlabError if the lab was edited but not built: its old checks would run."""
    folder, built = course / "labs" / lab, course / "source" / lab / f"{lab}.ipynb"
    edited = [path for path in folder.rglob("*.py") if path.stat().st_mtime > built.stat().st_mtime]
    if not edited:
        return
    from autograder.authoring.course_folder import is_stale  # takes half a second, only after an edit

    if is_stale(course, lab):  # a checkout gives files any dates
        raise GradlabError(
            f"{edited[0]} was edited after source/{lab} was built", fix="gradlab build, then the same command"
        )


def grade_lab(
    nbgrader: NbgraderCourse,
    lab: str,
    executor: Executor | None = None,
    student: str = "",
    include_current: bool = False,
    stop: Event | None = None,
) -> Iterator[GradingOutcome]:
    """Grade every submission of the lab, or one student's, and yield each as it's done.

    Args:
        executor: Grades the submissions; by default on this machine, one at a time.
        student: Grade only this student's.
        include_current: Also grade submissions whose result is up to date.
        stop: Set to end early; what is graded by then is recorded.
    """
    executor = executor or LocalExecutor()
    with open_class(nbgrader, lab, executor, student) as opened:
        yield from opened.grader.grade(opened.students, executor, include_current, stop or Event())


@dataclass(frozen=True)
class OpenClass:
    """A class with submissions of one lab to grade."""

    grader: ClassGrader
    students: Sequence[str]
    """The students who submitted it."""
    excluded: Sequence[str]
    """Students whom nbgrader_config.py excludes."""
    changes: Sequence[str]
    """A line for each change to the lab since students submitted it."""


@contextlib.contextmanager
def open_class(
    nbgrader: NbgraderCourse, lab: str, executor: Executor, student: str = "", command: str = "grade"
) -> Iterator[OpenClass]:
    """Open this lab's grader, and find the students who submitted it.

    Meanwhile no other process can open the lab.

    Args:
        executor: Grades the submissions.
        student: Open only this student's submission.
        command: The command that grades, for the history.

    Raises:
        GradlabError: If no one submitted it, or it can't be graded here.
    """
    course = nbgrader.root
    require_source(course, lab)
    assignment = open_assignment(course, lab)
    assignment.refuse_settings(nbgrader.config)
    settings = read_settings(nbgrader.config, executor.choose_device())
    settings = assignment.adjust_settings(settings, nbgrader.config)
    layers = executor.find_layers(settings, [course])
    with contextlib.ExitStack() as stack:
        stack.enter_context(lock_lab(course, lab))
        rename_student_folders(course / "submitted")
        term = read_term(course)
        counting = find_counting_submissions(course, lab, term)
        students = [name for name in sorted(counting) if student in ("", name)]
        if not students:
            sender = f"from {student}{suggest_nearest(student, counting)} " if student else ""
            raise GradlabError(
                f"no submission {sender}in {course}/submitted/*/{lab}", fix=describe_collecting(quote(lab))
            )
        refuse_stale_lab(course, lab)
        gradebook = stack.enter_context(nbgrader.open_gradebook())
        refuse_unknown_names(course, lab, term, gradebook)
        changes = prepare_gradebook(nbgrader, assignment, gradebook, term)
        revoke_extensions(course, lab, gradebook, term.get_extensions(lab))
        excluded = assignment.list_excluded(nbgrader.config, students, gradebook)
        students = [name for name in students if name not in excluded]
        policy = ClassPolicy(term, load_late_penalty(nbgrader.config), counting)
        grader = ClassGrader(nbgrader, assignment, settings, layers, gradebook, policy, command)
        try:
            yield OpenClass(grader, students, excluded, changes)
        finally:
            grader.flush()


def load_late_penalty(config: Any) -> Penalty:
    """Load the penalty that c.AssignLatePenalties in nbgrader_config.py computes. Raises GradlabError if it fails."""

    def make_error(error: Exception) -> GradlabError:
        message = f"{type(error).__name__}: {error}"
        return GradlabError(
            f"c.AssignLatePenalties in nbgrader_config.py doesn't work: {message}\n    no mark was changed"
        )

    try:
        late = AssignLatePenalties(config=config)
        late.init_plugin()
    except Exception as error:
        raise make_error(error.__cause__ if isinstance(error.__cause__, Exception) else error) from None

    def compute_penalty(student: str, score: float, seconds: float) -> float | None:
        try:
            penalty: float | None = late.plugin_inst.late_submission_penalty(student, score, seconds)
            return penalty
        except Exception as error:
            raise make_error(error) from None

    return compute_penalty


@contextlib.contextmanager
def lock_lab(course: Path, lab: str) -> Iterator[None]:
    """Lock the lab. Raises GradlabError if another process is grading it, or the file system has no locks."""
    path = course / "results" / lab / ".lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # not flock: the workers would hold it too
        except OSError as error:
            if error.errno in HELD:
                raise GradlabError(
                    f"another gradlab is grading {lab} in {course}", fix="wait for it to finish, or stop it"
                ) from None
            raise GradlabError(
                f"{path} can't be locked: {error}", fix="keep the course on a file system that has locks"
            ) from None
        yield
