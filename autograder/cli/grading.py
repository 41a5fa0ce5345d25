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


OnDevice = Annotated[Device, typer.Option(help="What labs run on; auto: cuda where it is here.")]


@app.command()
def grade(
    lab: LabName,
    course: CoursePath = Path("."),
    student: Annotated[str, typer.Option(help="Grade only this student's submission.")] = "",
    jobs: Jobs = CPUS,
    again: Annotated[bool, typer.Option("--again", help="Grade those too whose result is up to date.")] = False,
    isolation: Isolation = "",
    device: OnDevice = Device.CPU,
    cluster: ClusterAddress = "",
    executor: ExecutorName = "dask",
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for a worker of the cluster.")] = 60,
) -> None:
    """Grade the submissions of a lab into nbgrader's gradebook. What has been graded and did not change is kept."""
    from autograder.workers.warm_start import start_ahead

    course = course.resolve()
    with contextlib.ExitStack() as ending:
        ahead = None if cluster else start_ahead(course, lab, student, jobs, again)
        if ahead:
            ending.callback(ahead.close)
        with pause_gc():  # while the fork server imports, too
            from autograder.base.text import join_names
            from autograder.base.timestamps import get_utc_now
            from autograder.classroom.summary import describe_regraded, list_remarks, read_points, summarize_lab
            from autograder.classroom.term_names import list_warnings
            from autograder.classroom.whole_lab import open_class
            from autograder.exchange.inbox import read_exchange
            from autograder.gradebook.class_files import read_counting_times
            from autograder.gradebook.nbgrader_course import open_course
            from autograder.model.arrivals import collect_times, find_uncollected
            from autograder.model.term import read_term
            from autograder.plugin import make_usual_config
            from autograder.workers.executors import LocalExecutor, make_executor

        api = open_course(course, isolation)
        results = []
        stop = ending.enter_context(catch_ctrl_c())
        where = make_executor(executor, cluster, device, wait) if cluster else LocalExecutor(jobs, device, ahead)
        writer, students = ending.enter_context(open_class(api, lab, where, student))
        for line in [*writer.lines, *writer.assignment.list_unread_settings(api.config, make_usual_config())]:
            err.print(line, markup=False)
        if writer.excluded:
            why = "by c.CourseDirectory.student_id_exclude or c.Autograde.create_student"
            err.print(f"left out {why}: {join_names(writer.excluded)}", markup=False)
        before = read_points(writer.gradebook, lab)
        running = writer.running.copy if not cluster else dict[str, float]  # on a cluster, submissions may also wait
        steps = ending.enter_context(show_progress(err, f"grading {lab}", len(students), running))
        for done in writer.grade(students, where, again, stop):
            steps.step(bool(done.failure))
            results.append(done)
            if done.failure:
                err.print(f"{done.student}: {done.failure}", markup=False)
    failed = sum(bool(done.failure) for done in results)
    if stop.is_set() and steps.done < steps.total:
        raise GradlabError(
            f"stopped after {steps.done} of {steps.total} submissions. What was graded, now or before, stays graded.\n"
            "    Run the same command to go on"
        )
    with api.open_gradebook() as gradebook:
        term, times = read_term(course), collect_times(read_exchange(api, [lab])[0], lab, get_utc_now())
        waiting = find_uncollected(times, read_counting_times(course, lab, term))
        summary = summarize_lab(gradebook, lab, results, waiting, before)
        lines = list_warnings(course, term, gradebook, lab)
    print_warnings(lines)
    for line in list_remarks(results, lab):
        err.print(line, markup=False)
    if why := describe_regraded(results):
        out.print(why, markup=False)
    read = "gradlab desk, " if summary.waiting else ""
    some_are_graded = summary.graded or summary.kept
    then = f". Next: {read}gradlab feedback {quote(lab)}, gradlab report {quote(lab)}" if some_are_graded else ""
    out.print(f"{lab}: {summary.describe()}{then}")
    if failed:
        raise GradlabError(f"{format_count(failed, 'submission')} could not be graded; the reasons stand above")


@app.command()
def watch(
    labs: Annotated[list[str] | None, typer.Argument(help="Labs by name; all that are released where none is.")] = None,
    course: CoursePath = Path("."),
    jobs: Jobs = CPUS,
    once: Annotated[bool, typer.Option("--once", help="Mark what is there, and end.")] = False,
    newest: Annotated[
        bool, typer.Option("--newest", help="Mark everybody's newest submission, whatever limits term.toml sets.")
    ] = False,
    isolation: Isolation = "",
    device: OnDevice = Device.CPU,
    cluster: ClusterAddress = "",
    executor: ExecutorName = "dask",
) -> None:
    """Mark what students submit as it arrives, and release its feedback. term.toml sets attempts, waits and ends."""
    from autograder.forkserver.imports import find_course_groups
    from autograder.forkserver.server_process import start_server

    course = course.resolve()
    with contextlib.ExitStack() as ending:
        ahead = None if cluster else start_server(jobs, find_course_groups(course, labs or ["*"]))
        if ahead:
            ending.callback(ahead.close)
        with pause_gc():  # while the fork server imports, too
            from autograder.gradebook.nbgrader_course import open_course
            from autograder.reports.standing import format_delay
            from autograder.watch.watch import watch as marks
            from autograder.watch.watch_start import list_released, prepare_all, start_pool
            from autograder.workers.executors import LocalExecutor, make_executor

        api = open_course(course, isolation)
        watched = list(labs or list_released(api))
        for words in prepare_all(api, watched):
            err.print(words, markup=False)
        stop = ending.enter_context(catch_ctrl_c())
        if cluster:
            where = make_executor(executor, cluster, device)
        else:
            pool = ending.enter_context(contextlib.closing(start_pool(api, device, jobs, ahead)))
            where = LocalExecutor(jobs, device, pool=pool)
        out.print(f"watching {', '.join(watched)}. Ctrl-C ends it, and the same command goes on")
        marked = failed = 0
        seen = set()
        for each in marks(api, watched, where, lambda words: err.print(words, markup=False), stop, once, newest):
            who = f"{each.arrival.student} {each.arrival.lab}"
            marked, failed = marked + 1, failed + bool(each.failure)
            seen.add(each.arrival.lab)
            if each.failure:
                err.print(f"{who}: {each.failure}", markup=False)
            else:
                damaged = f"damaged, {each.damaged}\n    " if each.damaged else ""
                waits = " until a person reads the rest" if each.waits else ""
                mark_of = f"{each.points:g} of {each.worth:g}{waits}, {format_delay(each.seconds)} after it came"
                out.print(f"{who}: {damaged}{mark_of}", markup=False)
    reports = ", ".join(f"gradlab report {quote(lab)}" for lab in sorted(seen)) or "gradlab status"
    out.print(f"{format_count(marked - failed, 'submission')} marked. Next: {reports}")
    if failed:
        raise GradlabError(f"{format_count(failed, 'submission')} could not be graded; the reasons stand above")
    if once and stop.is_set():
        raise GradlabError("stopped before all was looked at\n    Run the same command to go on")


@app.command()
def mark(
    lab: Annotated[str, typer.Argument(help="The lab's name, or the notebook's path.")] = "",
    course: CoursePath = Path("."),
    serve: Annotated[bool, typer.Option("--serve", hidden=True, help="Mark what JupyterLab asks for.")] = False,
) -> None:
    """Mark your own copy of a lab, in work/, with every hidden check, and write its feedback page."""
    from autograder.forkserver.imports import find_course_groups
    from autograder.forkserver.server_process import start_server

    course = course.resolve()
    path = Path(lab) if lab.endswith(".ipynb") else course / "work" / lab / f"{lab}.ipynb"
    if not serve and not (lab and path.exists()):
        raise GradlabError(f"there is no {path}: name a lab that make lab put into work/, or a notebook's path")
    with contextlib.closing(start_server(1, find_course_groups(course, ["*" if serve else path.stem]))) as ahead:
        with pause_gc():  # while the fork server imports, too
            from autograder.classroom import self_marking

        if serve:
            self_marking.serve(course, sys.stdin, sys.stdout, ahead)
            return
        marked = self_marking.mark(course, path.resolve(), self_marking.read_course_settings(course), {}, ahead)
    out.print(f"{marked.words}. Next: open {marked.page}")


@contextlib.contextmanager
def catch_ctrl_c() -> Iterator[Event]:
    """An event that the first Ctrl-C sets, so what is being written is finished; the second one interrupts."""
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
