"""Prepares `gradlab watch` before its first look: fills the labs' gradebook rows and starts workers."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.base.device import DeviceChoice
from autograder.base.stop_request import StopRequest
from autograder.classroom.assignment_kinds import open_assignment
from autograder.classroom.grading_settings import read_settings
from autograder.classroom.preparation import prepare_gradebook
from autograder.classroom.unknown_names import list_unknown_names, refuse_unknown_names
from autograder.forkserver.client import ProcessSettings
from autograder.forkserver.server_process import ForkServerProcess
from autograder.gradebook.nbgrader_course import NbgraderCourse
from autograder.model.assignments import require_source
from autograder.model.term import read_term
from autograder.workers.executors import choose_device
from autograder.workers.pool import Pool


def prepare_labs(nbgrader: NbgraderCourse, labs: Sequence[str], stop: StopRequest) -> list[str]:
    """Put these labs into the gradebook before the first submission arrives and would have to wait for it.

    Args:
        stop: Set to leave out the labs that it hasn't begun.

    Returns:
        A line for each change to a lab that was submitted, and for each unknown name in term.toml.
    """
    term = read_term(nbgrader.root)
    with nbgrader.open_gradebook() as gradebook:
        lines = []
        for lab in labs:
            if stop.is_set():
                break
            require_source(nbgrader.root, lab)
            assignment = open_assignment(nbgrader.root, lab)
            refuse_unknown_names(assignment.course, lab, term, gradebook)
            lines += prepare_gradebook(nbgrader, assignment, gradebook, term)
        unknown = (name for lab in labs for name in list_unknown_names(nbgrader.root, term, gradebook, lab))
        return lines + [name.format() for name in dict.fromkeys(unknown)]


def start_pool(
    nbgrader: NbgraderCourse, device: DeviceChoice, jobs: int, server_process: ForkServerProcess | None
) -> Pool:
    """Start workers that wait for submissions.

    Args:
        device: What labkit.device() returns in submissions.
        jobs: How many workers to start.
        server_process: A running fork server, as in LocalExecutor.
    """
    course, settings = nbgrader.root, read_settings(nbgrader.config, choose_device(device))
    process_settings = ProcessSettings(settings.isolation, settings.limits, settings.device)
    return Pool(process_settings, settings.timeouts.submission, (course,), jobs, server_process)
