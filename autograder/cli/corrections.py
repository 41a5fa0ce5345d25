"""Commands that correct marks during a term: extensions, excused checks, and regrading."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from autograder.base.errors import GradlabError
from autograder.cli.app import (
    CPUS,
    SEE_ABOVE,
    CoursePath,
    IsolationName,
    Jobs,
    LabName,
    app,
    err,
    format_count,
    out,
    pause_gc,
)
from autograder.cli.grading import catch_ctrl_c

Reason = Annotated[str, typer.Option(help="A note for yourself in term.toml.")]


@app.command(rich_help_panel="Correct marks")
def extend(
    lab: LabName,
    student: Annotated[str, typer.Argument(help="The student's id.")],
    until: Annotated[str, typer.Option(help="The student's due date, as in '2027-02-03 18:00 UTC'.")],
    reason: Reason = "",
    course: CoursePath = Path("."),
) -> None:
    """Give a student more time for a lab. The extension is saved in term.toml, and late penalties respect it."""
    with pause_gc():
        from autograder.classroom.decisions import grant_extension
        from autograder.gradebook.nbgrader_course import open_course

    nbgrader = open_course(course)
    with nbgrader.open_gradebook() as gradebook:
        time, note = grant_extension(course.resolve(), gradebook, lab, student, until, reason)
    if note:
        err.print(note, markup=False)
    out.print(
        f"{student} may submit {lab} until {time} UTC. Next: gradlab grade {quote(lab)}, which updates late penalties"
    )


@app.command(rich_help_panel="Correct marks")
def excuse(
    lab: LabName,
    check: Annotated[str, typer.Argument(help="An exercise, a check's id or label, or EXERCISE/CHECK.")],
    student: Annotated[str, typer.Option(help="Only this student.")] = "",
    reason: Reason = "",
    course: CoursePath = Path("."),
) -> None:
    """Give full points for a check or an exercise, to everyone or one student. The excuse is in term.toml."""
    with pause_gc():
        from autograder.classroom import decisions
        from autograder.gradebook.nbgrader_course import open_course

    if student:
        nbgrader = open_course(course)
        with nbgrader.open_gradebook() as gradebook:
            decisions.refuse_unknown_student(course.resolve(), gradebook, student)
    excused = decisions.grant_excuse(course.resolve(), lab, check, student, reason)
    name = f"{excused.exercise}/{excused.check}" if excused.check else excused.exercise
    if excused.check:
        err.print(
            "Students who left the exercise blank, or who fail a required check, still get no points for it",
            markup=False,
        )
    out.print(
        f"{name} counts as passed for {student or 'everyone'}. Next: gradlab grade {quote(lab)}, "
        "which updates the marks (without running anything again)",
        markup=False,
    )


@app.command(rich_help_panel="Correct marks")
def regrade(
    lab: LabName,
    student: Annotated[str, typer.Option(help="Only this student's submission.")] = "",
    exercise: Annotated[str, typer.Option(help="Change only the marks of this exercise.")] = "",
    again: Annotated[bool, typer.Option("--again", help="Also grade submissions with an up-to-date result.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Write without asking.")] = False,
    jobs: Jobs = CPUS,
    isolation: IsolationName = "",
    course: CoursePath = Path("."),
) -> None:
    """Grade again after a check was corrected, and show what would change before writing it."""
    with pause_gc():
        from autograder.classroom import regrading
        from autograder.gradebook.nbgrader_course import open_course
        from autograder.workers.executors import LocalExecutor

    def confirm_changes(result: regrading.RegradeResult) -> bool:
        for line in regrading.describe_changes(result):
            out.print(line, markup=False)
        if yes or not sys.stdin.isatty():
            return yes
        return typer.confirm("Write these marks?")

    nbgrader = open_course(course.resolve(), isolation)
    with catch_ctrl_c() as stop:
        scope = regrading.RegradeScope(student, exercise, again)
        result = regrading.regrade(nbgrader, lab, LocalExecutor(jobs), confirm_changes, scope, stop)
    for name, reason in result.failures:
        err.print(f"{name}: {reason}", markup=False)
    if not result.graded and not result.failures:
        out.print(f"There's nothing to grade: every result of {lab} is up to date (--again grades them anyway)")
    elif result.written:
        out.print(f"{format_count(len(result.changes), 'mark')} changed. Next: gradlab feedback {quote(lab)}")
    elif not result.changes:
        out.print("No mark would change, so nothing was written")
    else:
        out.print("Nothing was written. To write the changes, run the same command with --yes")
    if result.failures:
        count_text = format_count(len(result.failures), "submission")
        raise GradlabError(f"{count_text} could not be graded; earlier marks stay", fix=SEE_ABOVE)
