"""Commands of a term: extensions, excused checks, and grading anew what has its mark."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from autograder.base.errors import GradlabError
from autograder.cli.app import CPUS, CoursePath, Isolation, Jobs, LabName, app, err, format_count, out, pause_gc
from autograder.cli.grading import catch_ctrl_c

Reason = Annotated[str, typer.Option(help="Kept in term.toml, for you.")]


@app.command()
def extend(
    lab: LabName,
    student: Annotated[str, typer.Argument(help="The student's id.")],
    until: Annotated[str, typer.Option(help="When it is due for this student, as '2027-02-03 18:00 UTC'.")],
    reason: Reason = "",
    course: CoursePath = Path("."),
) -> None:
    """Give a student more time for a lab. It is written to term.toml, and holds for late penalties."""
    with pause_gc():
        from autograder.classroom.decisions import grant_extension
        from autograder.gradebook.nbgrader_course import open_course

    api = open_course(course)
    with api.open_gradebook() as gradebook:
        time, note = grant_extension(course.resolve(), gradebook, lab, student, until, reason)
    if note:
        err.print(note, markup=False)
    out.print(
        f"{student} may hand in {lab} until {time} UTC. Next: gradlab grade {quote(lab)}, "
        "which takes penalties off anew"
    )


@app.command()
def excuse(
    lab: LabName,
    check: Annotated[str, typer.Argument(help="An exercise, a check's id or label, or EXERCISE/CHECK.")],
    student: Annotated[str, typer.Option(help="For this student alone.")] = "",
    reason: Reason = "",
    course: CoursePath = Path("."),
) -> None:
    """Give full points for a check or an exercise, to everybody or to one student. It is written to term.toml."""
    with pause_gc():
        from autograder.classroom import decisions
        from autograder.gradebook.nbgrader_course import open_course

    if student:
        api = open_course(course)
        with api.open_gradebook() as gradebook:
            decisions.refuse_unknown_student(course.resolve(), gradebook, student)
    decided = decisions.excuse(course.resolve(), lab, check, student, reason)
    what = f"{decided.exercise}/{decided.check}" if decided.check else decided.exercise
    if decided.check:
        err.print(
            "Who left the exercise blank, or fails a check that it requires, gets no points by this", markup=False
        )
    out.print(
        f"{what} counts as passed for {student or 'everybody'}. Next: gradlab grade {quote(lab)}, "
        "which writes the marks (an excuse alone grades nothing anew)",
        markup=False,
    )


@app.command()
def regrade(
    lab: LabName,
    student: Annotated[str, typer.Option(help="Only this student's submission.")] = "",
    exercise: Annotated[str, typer.Option(help="Change the marks of this exercise alone.")] = "",
    again: Annotated[bool, typer.Option("--again", help="Grade those too whose result is up to date.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Write without asking.")] = False,
    jobs: Jobs = CPUS,
    isolation: Isolation = "",
    course: CoursePath = Path("."),
) -> None:
    """Grade anew, after a check was corrected, and show what would change before it is written."""
    with pause_gc():
        from autograder.classroom import regrade as regrading
        from autograder.gradebook.nbgrader_course import open_course
        from autograder.workers.executors import LocalExecutor

    def confirm_changes(found: regrading.RegradeResult) -> bool:
        for line in regrading.describe_changes(found):
            out.print(line, markup=False)
        if yes or not sys.stdin.isatty():
            return yes
        return typer.confirm("Write these marks?")

    api = open_course(course.resolve(), isolation)
    with catch_ctrl_c() as stop:
        found = regrading.regrade(api, lab, LocalExecutor(jobs), confirm_changes, student, exercise, again, stop)
    for name, reason in found.failures:
        err.print(f"{name}: {reason}", markup=False)
    if not found.graded and not found.failures:
        out.print(f"Nothing to grade anew: every result of {lab} is up to date (--again grades them all the same)")
    elif found.written:
        out.print(f"written, {len(found.changes)} changed. Next: gradlab feedback {quote(lab)}")
    elif not found.changes:
        out.print("No mark would change, and nothing was written")
    else:
        out.print("Nothing was written. To write it: the same command with --yes")
    if found.failures:
        raise GradlabError(f"{format_count(len(found.failures), 'submission')} could not be graded; their marks stay")
