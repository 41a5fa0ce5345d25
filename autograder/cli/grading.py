"""Commands that grade: a class, or your own copy."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from shlex import quote
from threading import Event
from typing import Annotated

import typer

from autograder.base.errors import GradlabError
from autograder.base.progress_bar import show_progress
from autograder.cli.app import (
    CPUS,
    ClusterAddress,
    CoursePath,
    ExecutorName,
    Isolation,
    Jobs,
    LabName,
    app,
    err,
    format_count,
    out,
    pause_gc,
    print_warnings,
)


class Device(StrEnum):
    CPU, CUDA, AUTO = "cpu", "cuda", "auto"


OnDevice = Annotated[Device, typer.Option(help="The device that labs run on; auto: cuda if available, else cpu.")]


@app.command()
def grade(
    lab: LabName,
    course: CoursePath = Path("."),
    student: Annotated[str, typer.Option(help="Grade only this student's submission.")] = "",
    jobs: Jobs = CPUS,
    again: Annotated[bool, typer.Option("--again", help="Also grade submissions with an up-to-date result.")] = False,
    isolation: Isolation = "",
    device: OnDevice = Device.CPU,
    cluster: ClusterAddress = "",
    executor_name: ExecutorName = "dask",
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for a worker of the cluster.")] = 60,
) -> None:
    """Grade a lab's submissions, and write the marks to nbgrader's gradebook. Results that are up to date are kept."""
    from autograder.workers.early_fork_server import start_early_server

    course = course.resolve()
    with contextlib.ExitStack() as stack:
        server = None if cluster else start_early_server(course, lab, student, jobs, again)
        if server:
            stack.callback(server.close)
        with pause_gc():  # while the fork server imports, too
            from autograder.base.text import join_names
            from autograder.base.timestamps import get_utc_now
            from autograder.classroom.class_grading import open_class
            from autograder.classroom.summary import describe_regraded, list_remarks, read_points, summarize_lab
            from autograder.classroom.term_names import list_warnings
            from autograder.exchange.course_exchange import read_exchange
            from autograder.gradebook.counting_submissions import find_counting_times
            from autograder.gradebook.nbgrader_course import open_course
            from autograder.model.arrivals import collect_times, find_uncollected
            from autograder.nbgrader_plugin import make_usual_config
            from autograder.workers.executors import LocalExecutor, make_executor

        nbgrader = open_course(course, isolation)
        outcomes = []
        stop = stack.enter_context(catch_ctrl_c())
        executor = (
            make_executor(executor_name, cluster, device, wait) if cluster else LocalExecutor(jobs, device, server)
        )
        opened = stack.enter_context(open_class(nbgrader, lab, executor, student))
        writer, students = opened.writer, opened.students
        for line in [
            *opened.changes,
            *writer.assignment.list_unread_settings(nbgrader.config, make_usual_config()),
        ]:
            err.print(line, markup=False)
        if opened.excluded:
            settings = "c.CourseDirectory.student_id_exclude or c.Autograde.create_student"
            err.print(f"excluded by {settings}: {join_names(opened.excluded)}", markup=False)
        before = read_points(writer.gradebook, lab)
        running = writer.running.copy if not cluster else dict[str, float]  # on a cluster, submissions may also wait
        steps = stack.enter_context(show_progress(err, f"grading {lab}", len(students), running))
        for outcome in writer.grade(students, executor, again, stop):
            steps.step(bool(outcome.failure))
            outcomes.append(outcome)
            if outcome.failure:
                err.print(f"{outcome.student}: {outcome.failure}", markup=False)
    failed = sum(bool(outcome.failure) for outcome in outcomes)
    if stop.is_set() and steps.done < steps.total:
        raise GradlabError(
            f"stopped after {steps.done} of {steps.total} submissions. Finished results are kept.\n"
            "    To continue, run the same command"
        )
    with nbgrader.open_gradebook() as gradebook:
        term, times = writer.term, collect_times(read_exchange(nbgrader, [lab])[0], lab, get_utc_now())
        uncollected = find_uncollected(times, find_counting_times(course, lab, term))
        summary = summarize_lab(gradebook, lab, outcomes, uncollected, before)
        lines = list_warnings(course, term, gradebook, lab)
    print_warnings(lines)
    for line in list_remarks(outcomes, lab):
        err.print(line, markup=False)
    if reasons := describe_regraded(outcomes):
        out.print(reasons, markup=False)
    desk = "gradlab desk, " if summary.waiting else ""
    some_are_graded = summary.graded or summary.kept
    then = f". Next: {desk}gradlab feedback {quote(lab)}, gradlab report {quote(lab)}" if some_are_graded else ""
    out.print(f"{lab}: {summary.describe()}{then}")
    if failed:
        raise GradlabError(f"{format_count(failed, 'submission')} could not be graded; see above for the reasons")


@app.command()
def watch(
    labs: Annotated[list[str] | None, typer.Argument(help="Names of labs; all released labs by default.")] = None,
    course: CoursePath = Path("."),
    jobs: Jobs = CPUS,
    once: Annotated[bool, typer.Option("--once", help="Mark what has arrived, and exit.")] = False,
    newest: Annotated[
        bool, typer.Option("--newest", help="Mark everyone's newest submission, whatever limits term.toml sets.")
    ] = False,
    isolation: Isolation = "",
    device: OnDevice = Device.CPU,
    cluster: ClusterAddress = "",
    executor_name: ExecutorName = "dask",
) -> None:
    """Mark submissions as they arrive, and release their feedback. term.toml limits attempts, waits and times."""
    from autograder.forkserver.imports import find_course_groups
    from autograder.forkserver.server_process import start_server

    course = course.resolve()
    with contextlib.ExitStack() as stack:
        server = None if cluster else start_server(jobs, find_course_groups(course, labs or ["*"]))
        if server:
            stack.callback(server.close)
        with pause_gc():  # while the fork server imports, too
            from autograder.gradebook.nbgrader_course import open_course
            from autograder.reports.standing import format_delay
            from autograder.watch.watch import watch as watch_exchange
            from autograder.watch.watch_start import list_released, prepare_all, start_pool
            from autograder.workers.executors import LocalExecutor, make_executor

        nbgrader = open_course(course, isolation)
        watched = list(labs or list_released(nbgrader))
        for line in prepare_all(nbgrader, watched):
            err.print(line, markup=False)
        stop = stack.enter_context(catch_ctrl_c())
        if cluster:
            executor = make_executor(executor_name, cluster, device)
        else:
            pool = stack.enter_context(contextlib.closing(start_pool(nbgrader, device, jobs, server)))
            executor = LocalExecutor(jobs, device, pool=pool)
        out.print(f"watching {', '.join(watched)}. Stop with Ctrl-C; to continue, run the same command")
        marked = failed = 0
        marked_labs = set()

        def report(line: str) -> None:
            err.print(line, markup=False)

        for mark in watch_exchange(nbgrader, watched, executor, report, stop, once, newest):
            name = f"{mark.arrival.student} {mark.arrival.lab}"
            marked, failed = marked + 1, failed + (mark.points is None)
            marked_labs.add(mark.arrival.lab)
            if mark.points is None:
                err.print(f"{name}: {mark.reason}", markup=False)
            else:
                damaged = f"damaged, {mark.reason}\n    " if mark.reason else ""
                waits = " until a person reads the rest" if mark.waits else ""
                points = f"{mark.points:g} of {mark.worth:g}{waits}"
                out.print(f"{name}: {damaged}{points}, {format_delay(mark.seconds)} after it arrived", markup=False)
    reports = ", ".join(f"gradlab report {quote(lab)}" for lab in sorted(marked_labs)) or "gradlab status"
    out.print(f"{format_count(marked - failed, 'submission')} marked. Next: {reports}")
    if failed:
        raise GradlabError(f"{format_count(failed, 'submission')} could not be graded; see above for the reasons")
    if once and stop.is_set():
        raise GradlabError("stopped before everything was marked\n    To continue, run the same command")


@app.command()
def mark(
    lab: Annotated[str, typer.Argument(help="The lab's name, or the notebook's path.")] = "",
    course: CoursePath = Path("."),
    serve: Annotated[bool, typer.Option("--serve", hidden=True, help="Answer JupyterLab's requests.")] = False,
) -> None:
    """Mark your own copy of a lab in work/, hidden checks included, and write its feedback page."""
    from autograder.forkserver.imports import find_course_groups
    from autograder.forkserver.server_process import start_server

    course = course.resolve()
    path = Path(lab) if lab.endswith(".ipynb") else course / "work" / lab / f"{lab}.ipynb"
    if not serve and not (lab and path.exists()):
        raise GradlabError(f"there is no {path}: give the name of a lab in work/ (make lab puts them there), or a path")
    with contextlib.closing(start_server(1, find_course_groups(course, ["*" if serve else path.stem]))) as server:
        with pause_gc():  # while the fork server imports, too
            from autograder.classroom import self_marking

        if serve:
            self_marking.serve(course, sys.stdin, sys.stdout, server)
            return
        copy_mark = self_marking.mark(course, path.resolve(), self_marking.read_course_settings(course), {}, server)
    out.print(f"{copy_mark.words}. Next: open {copy_mark.page}")


@contextlib.contextmanager
def catch_ctrl_c() -> Iterator[Event]:
    """Yield an event that the first Ctrl-C sets, so a write in progress is finished; the second Ctrl-C interrupts."""
    stop = Event()

    def request_stop(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = signal.signal(signal.SIGINT, request_stop)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
