"""The command line: thin, one function a command. Errors that a person can act on are printed without a traceback."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from threading import Event
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from autograder.errors import GradlabError
from autograder.progress import progress


class Device(StrEnum):
    CPU, CUDA, AUTO = "cpu", "cuda", "auto"


app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help=__doc__)
CoursePath = Annotated[Path, typer.Option("--course", help="The course's folder: the one that holds labs/.")]
LabNames = Annotated[list[str] | None, typer.Argument(help="Labs by name; all of them where none is named.")]
LabName = Annotated[str, typer.Argument(help="The lab's name, as in labs/course.toml.")]
out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


@app.command()
def build(
    course: CoursePath = Path("."),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail naming the files that are stale.")
    ] = False,
) -> None:
    """Make source/, release/ and solutions/ from labs/."""
    from autograder.authoring.course_folder import build as build_all
    from autograder.authoring.course_folder import read_course, stale

    read = read_course(course)
    if check:
        if files := stale(read):
            listed = "\n".join(f"  {f}" for f in files)
            raise GradlabError(f"stale, missing or stray:\n{listed}\n    fix: run gradlab build and commit the result")
        out.print(f"{_count(len(read.labs), 'lab')} up to date. Next: gradlab prove")
        return
    changed = build_all(read)
    for path in changed:
        out.print(f"{'wrote' if path.exists() else 'removed'} {path}")
    out.print(f"{_count(len(read.labs), 'lab')} built, {_count(len(changed), 'file')} changed. Next: gradlab prove")


@app.command()
def release(
    student: Annotated[Path, typer.Option("--student", help="The new folder; FOLDER.zip is written beside it.")],
    course: CoursePath = Path("."),
) -> None:
    """Write what a student needs to work at home: labs and labkit, without solutions and without the grader."""
    from autograder.authoring.course_folder import read_course
    from autograder.authoring.student_release import write_student_release

    path = write_student_release(read_course(course), student.resolve())
    out.print(f"wrote {student} and {path.name}. Next: hand out the zip; its README says how to begin")


@app.command()
def prove(
    labs: LabNames = None,
    course: CoursePath = Path("."),
    mutate: Annotated[bool, typer.Option("--mutate", help="Also edit each reference one step at a time.")] = False,
    exercise: Annotated[str, typer.Option(help="Prove only this exercise.")] = "",
    update: Annotated[
        bool, typer.Option("--update", help="Write fails= of wrong answers anew where they fail other checks.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Prove those too that are as they were when they were proved.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Labs proved at a time.")] = len(os.sched_getaffinity(0)),
) -> None:
    """Prove every check with right, wrong and lying answers."""
    from autograder.authoring.course_folder import read_course, read_labs
    from autograder.proving.kept_proofs import keep_proof, kept_proof
    from autograder.proving.labs import prove_labs
    from autograder.proving.update import update_lists

    problems = written = 0
    read = list(read_labs(read_course(course), tuple(labs or ())))
    if exercise and exercise not in (known := [e.name for lab in read for e in lab.exercises]):
        raise GradlabError(f"no exercise {exercise!r}: there are {', '.join(known)}")
    whole = not (mutate or exercise)
    before = [] if again or not whole else [proof for lab in read if (proof := kept_proof(lab))]
    left = [lab for lab in read if lab.name not in {proof.lab for proof in before}]
    for proof in itertools.chain(before, prove_labs(left, jobs, mutate, exercise)):
        line = f"{proof.lab}: {proof.right} right, {proof.wrong} wrong and {proof.generated} generated answers tried"
        if mutate:
            line += f", {proof.mutants} mutants ({len(proof.survivors)} equivalent)"
        line += (
            f"; {proof.lies} lies earn {sum(proof.lied.values()):g} points outside observed checks, "
            f"false claims of a technique {sum(proof.claimed.values()):g} of {proof.points:g}"
        )
        out.print(f"{line}, {'the same as before' if proof.kept else _count(len(proof.problems), 'problem')}")
        if whole and not proof.kept:
            keep_proof(next(lab for lab in read if lab.name == proof.lab), proof)
        put_right = proof.outdated if update else {}
        if put_right:
            out.print(update_lists(put_right.values()), markup=False)
            out.print(f"{_count(len(put_right), 'list')} written anew. Read the difference: is each what it should be?")
        written += len(put_right)
        unsolved = [problem for problem in proof.problems if problem not in put_right]
        for problem in unsolved:
            err.print(problem, markup=False)
        problems += len(unsolved)
    if problems:
        raise GradlabError(
            f"{_count(problems, 'problem')}: the checks are not proved. Put that right and run gradlab prove again"
        )
    if written:
        out.print("Next: gradlab prove, which tries the lists that were written")
    elif exercise:
        out.print(f"The checks of {exercise} are proved. Next: gradlab prove of its whole lab")
    else:
        out.print("Every check is proved. Next: gradlab demo, or release the labs with nbgrader")


@app.command()
def grade(
    lab: LabName,
    course: CoursePath = Path("."),
    student: Annotated[str, typer.Option(help="Grade only this student's submission.")] = "",
    jobs: Annotated[int, typer.Option(min=1, help="Submissions graded at a time.")] = len(os.sched_getaffinity(0)),
    again: Annotated[bool, typer.Option("--again", help="Grade those too whose result is up to date.")] = False,
    isolation: Annotated[str, typer.Option(help="Accept a weaker sandbox: a level that gradlab doctor lists.")] = "",
    device: Annotated[Device, typer.Option(help="What labs run on; auto: cuda where it is here.")] = Device.CPU,
    cluster: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Grade on the workers of this dask scheduler, e.g. tcp://HOST:8786.")
    ] = "",
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for a worker of the cluster.")] = 60,
) -> None:
    """Grade the submissions of a lab into nbgrader's gradebook. What has been graded and did not change is kept."""
    from autograder.forkserver.starting import start_ahead, submitted_students

    course = course.resolve()
    with contextlib.ExitStack() as ending:
        ahead = None if cluster else start_ahead(course, lab, student, jobs, again)
        if ahead:
            ending.callback(ahead.close)
        from autograder.grading.nbgrader_api import open_course
        from autograder.grading.where import Cluster, ThisMachine
        from autograder.grading.whole_lab import grade_lab  # while the fork server imports, too

        api = open_course(course, isolation)
        total = 1 if student else len(submitted_students(course, lab))
        failed = kept = 0
        stop = ending.enter_context(stopped_by_ctrl_c())
        steps = ending.enter_context(progress(err, f"grading {lab}", total))
        where = Cluster(cluster, wait, device) if cluster else ThisMachine(jobs, device, ahead)
        for done in grade_lab(api, lab, where, student, again, stop):
            steps.step(bool(done.failure))
            kept += done.kept
            failed += bool(done.failure)
            if done.failure:
                err.print(f"{done.student}: {done.failure}", markup=False)
    if stop.is_set() and steps.done < total:
        raise GradlabError(
            f"stopped: {steps.done - failed} of {total} submissions are graded and in the gradebook.\n"
            "    Run the same command to go on"
        )
    words = f", {kept} of them before" if kept else ""
    out.print(
        f"{total - failed} of {total} submissions graded{words}. Next: gradlab feedback {lab}, gradlab report {lab}"
    )
    if failed:
        raise GradlabError(f"{_count(failed, 'submission')} could not be graded; the reasons stand above")


@app.command()
def mark(
    lab: Annotated[str, typer.Argument(help="The lab's name, or the notebook's path.")] = "",
    course: CoursePath = Path("."),
    serve: Annotated[bool, typer.Option("--serve", hidden=True, help="Mark what JupyterLab asks for.")] = False,
) -> None:
    """Mark your own copy of a lab, in work/, with every hidden check, and write its feedback page."""
    from autograder.forkserver.starting import start

    course = course.resolve()
    path = Path(lab) if lab.endswith(".ipynb") else course / "work" / lab / f"{lab}.ipynb"
    if not serve and not (lab and path.exists()):
        raise GradlabError(f"there is no {path}: name a lab that make lab put into work/, or a notebook's path")
    with contextlib.closing(start()) as ahead:
        from autograder.grading import marking  # while the fork server imports, too

        if serve:
            marking.serve(course, sys.stdin, sys.stdout, ahead)
            return
        marked = marking.mark(course, path.resolve(), marking.course_settings(course), {}, ahead)
    out.print(f"{marked.words}. Next: open {marked.page}")


@app.command()
def feedback(lab: LabName, course: CoursePath = Path(".")) -> None:
    """Write a feedback page for each graded submission."""
    from autograder.gradebook.reader import read_results
    from autograder.grading.nbgrader_api import open_course
    from autograder.reports.feedback import write_feedback

    api = open_course(course)
    pages = write_feedback(read_results(api.coursedir.db_url, course.resolve(), lab), course.resolve(), lab)
    if not pages:
        raise GradlabError(f"no graded submission of {lab}: run gradlab grade {lab} first")
    out.print(f"{len(pages)} feedback pages in {course / 'feedback'}. Next: nbgrader release_feedback {lab}")


@app.command()
def report(lab: LabName, course: CoursePath = Path(".")) -> None:
    """Write a page with the marks of a class, and where points were lost."""
    from autograder.gradebook.reader import read_results
    from autograder.grading.nbgrader_api import open_course
    from autograder.reports.report import write_report

    api = open_course(course)
    path = course / "results" / f"{lab}.html"
    write_report(read_results(api.coursedir.db_url, course.resolve(), lab), lab, path)
    out.print(f"wrote {path}. Next: open it in a browser, or gradlab export")


@app.command()
def export(course: CoursePath = Path(".")) -> None:
    """Write every mark of every lab to results/marks.csv."""
    from autograder.authoring.course_folder import read_course
    from autograder.grading.nbgrader_api import open_course
    from autograder.reports.export import write_csv

    api = open_course(course)
    path = course / "results" / "marks.csv"
    rows = write_csv(api.coursedir.db_url, course.resolve(), [e.name for e in read_course(course).labs], path)
    out.print(f"wrote {rows} marks to {path}")


@app.command()
def new(lab: LabName, course: CoursePath = Path(".")) -> None:
    """Start a lab: a lesson and an exercise that build and prove, to be replaced piece by piece."""
    from autograder.authoring.new import new_lab

    path = new_lab(course, lab)
    out.print(f"wrote {path}/lab.py and exercises/, and listed {lab} in labs/course.toml. Next: gradlab prove {lab}")


@app.command()
def doctor() -> None:
    """Show which layers of the sandbox this machine gives, and what can be graded with them."""
    from autograder.sandbox import available, report, strongest_level

    found = available()
    table = Table("layer or level", "there", "note", box=None)
    for name, there, note in report(found):
        table.add_row(name, "[green]yes[/]" if there else "[red]no[/]", escape(note))
    out.print(table)
    level = strongest_level(found)
    if level == "full":
        out.print("\nSubmissions are isolated in full. Next: gradlab grade LAB")
    else:
        out.print(
            f"\nThe most that this machine gives is --isolation={level}. Next: gradlab grade LAB --isolation={level}"
        )


@app.command()
def demo(
    folder: Annotated[
        Path, typer.Option(help="Where the demo's course is put; an earlier demo there is replaced.")
    ] = Path("demo"),
    course: CoursePath = Path("."),
) -> None:
    """Show the main job on real notebooks: prove, grade a small class, write feedback and a report."""
    from autograder.demo import run_demo

    run_demo(course, folder, out)


@contextlib.contextmanager
def stopped_by_ctrl_c() -> Iterator[Event]:
    """An event that the first Ctrl-C sets, so that what is being written is finished; the second one interrupts."""
    stop = Event()

    def set_it(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = signal.signal(signal.SIGINT, set_it)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def main() -> None:
    try:
        app()
    except GradlabError as error:
        err.print(f"gradlab: {error}", markup=False)
        sys.exit(1)
    except KeyboardInterrupt:
        err.print("gradlab: interrupted")
        sys.exit(130)


if __name__ == "__main__":
    main()
