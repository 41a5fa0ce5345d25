"""Commands of a term: extensions, excused checks, and grading anew what has its mark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.app import CoursePath, LabName, app, err, out

Reason = Annotated[str, typer.Option(help="Kept in term.toml, for you.")]


@app.command()
def extend(
    lab: LabName,
    student: Annotated[str, typer.Argument(help="The student's id.")],
    until: Annotated[str, typer.Option(help="When it is due for this student, for instance '2027-02-03 18:00 UTC'.")],
    reason: Reason = "",
    course: CoursePath = Path("."),
) -> None:
    """Give a student more time for a lab. It is written to term.toml, and holds for late penalties."""
    from autograder.gradebook.writer import opened
    from autograder.grading.decisions import extend_until
    from autograder.grading.nbgrader_api import open_course

    api = open_course(course)
    with opened(api.coursedir.db_url, api.coursedir.course_id) as gradebook:
        time, note = extend_until(course.resolve(), gradebook, lab, student, until, reason)
    if note:
        err.print(note, markup=False)
    out.print(
        f"{student} may hand in {lab} until {time} UTC. Next: gradlab grade {lab}, which takes penalties off anew"
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
    from autograder.grading import decisions

    decided = decisions.excuse(course.resolve(), lab, check, student, reason)
    what = f"{decided.exercise}/{decided.check}" if decided.check else decided.exercise
    out.print(
        f"{what} counts as passed for {student or 'everybody'}. Next: gradlab grade {lab}, which grades nothing "
        "again and writes the marks",
        markup=False,
    )
