"""Opens a class: everything that grading the submissions of one lab needs, while no other process grades that lab."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from shlex import quote

from autograder.base.errors import GradlabError
from autograder.base.stop_request import StopRequest
from autograder.classroom.assignment_kinds import open_assignment
from autograder.classroom.class_grader import ClassGrader, ClassPolicy
from autograder.classroom.grading_outcome import GradingOutcome
from autograder.classroom.grading_settings import read_settings
from autograder.classroom.lab_lock import lock_lab
from autograder.classroom.late_penalty import load_late_penalty
from autograder.classroom.preparation import prepare_gradebook, refuse_stale_lab
from autograder.classroom.unknown_names import refuse_unknown_names
from autograder.gradebook.counting_submissions import find_counting_submissions
from autograder.gradebook.extensions import revoke_extensions
from autograder.gradebook.nbgrader_course import NbgraderCourse
from autograder.intake.folder_normalization import rename_student_folders
from autograder.model.arrivals import describe_collecting
from autograder.model.assignments import require_source, suggest_nearest
from autograder.model.term import read_term
from autograder.workers.executors import Executor, LocalExecutor


def grade_lab(
    nbgrader: NbgraderCourse,
    lab: str,
    executor: Executor | None = None,
    student: str = "",
    include_current: bool = False,
    stop: StopRequest | None = None,
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
        yield from opened.grader.grade(opened.students, executor, include_current, stop or StopRequest())


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
    layers = executor.list_layer_names(settings, [course])
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
