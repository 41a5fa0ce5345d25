"""Commands that grade: a class, or your own copy."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from autograder.base.device import DeviceChoice
from autograder.base.errors import GradlabError
from autograder.base.progress_bar import show_progress
from autograder.base.stop_request import StopRequest
from autograder.cli.app import (
    CPUS,
    SEE_ABOVE,
    ClusterAddress,
    CoursePath,
    ExecutorName,
    IsolationName,
    Jobs,
    LabName,
    app,
    err,
    format_count,
    out,
    pause_gc,
)
from autograder.cli.grading_output import print_mark, print_opening, print_summary, print_totals

OnDevice = Annotated[DeviceChoice, typer.Option(help="The device that labs run on; auto: cuda if available, else cpu.")]


@app.command(rich_help_panel="Grade submissions")
def grade(
    lab: LabName,
    course: CoursePath = Path("."),
    student: Annotated[str, typer.Option(help="Grade only this student's submission.")] = "",
    jobs: Jobs = CPUS,
    again: Annotated[bool, typer.Option("--again", help="Also grade submissions with an up-to-date result.")] = False,
    isolation: IsolationName = "",
    device: OnDevice = DeviceChoice.CPU,
    cluster: ClusterAddress = "",
    executor_name: ExecutorName = "dask",
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for a worker of the cluster.")] = 60,
) -> None:
    """Grade a lab's submissions, and write the marks to nbgrader's gradebook. Results that are up to date are kept."""
    from autograder.workers.early_fork_server import start_early_server

    course = course.resolve()
    with contextlib.ExitStack() as stack:
        server_process = None if cluster else start_early_server(course, lab, student, jobs, again)
        if server_process:
            stack.callback(server_process.close)
        with pause_gc():  # while the fork server imports, too
            from autograder.classroom.open_class import open_class
            from autograder.classroom.summary import read_totals
            from autograder.gradebook.nbgrader_course import open_course
            from autograder.nbgrader_plugin import make_default_config
            from autograder.workers.executors import LocalExecutor, make_executor

        nbgrader = open_course(course, isolation)
        stop = stack.enter_context(catch_ctrl_c())
        executor = (
            make_executor(executor_name, cluster, device, wait)
            if cluster
            else LocalExecutor(jobs, device, server_process)
        )
        opened = stack.enter_context(open_class(nbgrader, lab, executor, student))
        unread = opened.grader.assignment.list_unread_settings(nbgrader.config, make_default_config())
        print_opening([*opened.changes, *unread], opened.excluded)
        before = read_totals(opened.grader.gradebook, lab)
        # on a cluster, submissions may also wait
        running = opened.grader.running.copy if not cluster else dict[str, float]
        outcomes = []
        counter = stack.enter_context(show_progress(err, f"grading {lab}", len(opened.students), running))
        for outcome in opened.grader.grade(opened.students, executor, again, stop):
            counter.advance(bool(outcome.failure))
            outcomes.append(outcome)
            if outcome.failure:
                err.print(f"{outcome.student}: {outcome.failure}", markup=False)
    if stop.is_set() and counter.done < counter.total:
        raise GradlabError(
            f"stopped after {counter.done} of {counter.total} submissions; finished results are kept",
            fix="run the same command to continue",
        )
    print_summary(nbgrader, lab, opened.grader.term, outcomes, before)
    if failed := sum(bool(outcome.failure) for outcome in outcomes):
        raise GradlabError(f"{format_count(failed, 'submission')} could not be graded", fix=SEE_ABOVE)


@app.command(rich_help_panel="Grade submissions")
def watch(
    labs: Annotated[list[str] | None, typer.Argument(help="Names of labs; all released labs by default.")] = None,
    course: CoursePath = Path("."),
    jobs: Jobs = CPUS,
    once: Annotated[bool, typer.Option("--once", help="Mark what has arrived, and exit.")] = False,
    newest: Annotated[
        bool, typer.Option("--newest", help="Mark everyone's newest submission, whatever limits term.toml sets.")
    ] = False,
    isolation: IsolationName = "",
    device: OnDevice = DeviceChoice.CPU,
    cluster: ClusterAddress = "",
    executor_name: ExecutorName = "dask",
) -> None:
    """Mark submissions as they arrive, and release their feedback. term.toml limits attempts, waits and times."""
    from autograder.forkserver.server_process import start_fork_server_process
    from autograder.student_process.imports import find_course_import_groups

    course = course.resolve()
    with contextlib.ExitStack() as stack:
        server_process = (
            None if cluster else start_fork_server_process(jobs, find_course_import_groups(course, labs or ["*"]))
        )
        if server_process:
            stack.callback(server_process.close)
        with pause_gc():  # while the fork server imports, too
            from autograder.exchange.course_exchange import list_released
            from autograder.gradebook.nbgrader_course import open_course
            from autograder.watch.watch_loop import watch_exchange
            from autograder.watch.watch_start import prepare_labs, start_pool
            from autograder.workers.executors import LocalExecutor, make_executor

        nbgrader = open_course(course, isolation)
        watched = list(labs or list_released(nbgrader))
        stop = stack.enter_context(catch_ctrl_c())
        for line in prepare_labs(nbgrader, watched, stop):
            err.print(line, markup=False)
        if cluster:
            executor = make_executor(executor_name, cluster, device)
        else:
            pool = stack.enter_context(contextlib.closing(start_pool(nbgrader, device, jobs, server_process)))
            executor = LocalExecutor(jobs, device, pool=pool)
        out.print(f"watching {', '.join(watched)}. Stop with Ctrl-C; to continue, run the same command")
        marks = watch_exchange(nbgrader, watched, executor, _print_line, stop, once, newest)
        marked_labs = Counter[str]()
        failed_count = 0
        for mark in marks:
            is_marked = print_mark(mark)
            marked_labs[mark.arrival.lab] += is_marked
            failed_count += not is_marked
    print_totals(marked_labs, failed_count)
    if once and stop.is_set():
        raise GradlabError("stopped before everything was marked", fix="run the same command to continue")


def _print_line(line: str) -> None:
    err.print(line, markup=False)


@app.command(rich_help_panel="Grade submissions")
def mark(
    lab: Annotated[str, typer.Argument(help="The lab's name, or the notebook's path.")] = "",
    course: CoursePath = Path("."),
    serve: Annotated[bool, typer.Option("--serve", hidden=True, help="Answer JupyterLab's requests.")] = False,
) -> None:
    """Mark your own copy of a lab in work/, hidden checks included, and write its feedback page."""
    from autograder.forkserver.server_process import start_fork_server_process
    from autograder.student_process.imports import find_course_import_groups
    from autograder.workers.death_signal import end_with_parent

    if serve:  # an endless cell mustn't go on after the notebook server was killed
        end_with_parent(signal.SIGKILL)
    course = course.resolve()
    path = Path(lab) if lab.endswith(".ipynb") else course / "work" / lab / f"{lab}.ipynb"
    if not serve and not (lab and path.exists()):
        raise GradlabError(
            f"there is no {path}", fix="give the name of a lab in work/ (make lab puts them there), or a path"
        )
    with contextlib.closing(
        start_fork_server_process(1, find_course_import_groups(course, ["*" if serve else path.stem]))
    ) as server_process:
        with pause_gc():  # while the fork server imports, too
            from autograder.classroom import copy_service, self_marking

        if serve:
            copy_service.serve_requests(course, sys.stdin, sys.stdout, server_process)
            return
        settings = self_marking.read_course_settings(course)
        copy_mark = self_marking.grade_copy(course, path.resolve(), settings, {}, server_process).write()
    out.print(f"{copy_mark.message}. Next: open {copy_mark.page}")


@contextlib.contextmanager
def catch_ctrl_c() -> Iterator[StopRequest]:
    """Yield a request that the first Ctrl-C makes, so a write in progress is finished; the second Ctrl-C interrupts."""
    stop = StopRequest()

    def request_stop(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = signal.signal(signal.SIGINT, request_stop)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
