"""Commands between this course and a learning management system."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from autograder.base.errors import GradlabError
from autograder.cli.app import CoursePath, LabName, app, err, format_count, out, pause_gc, print_doubtful
from autograder.lms.systems import System


@app.command()
def roster(
    file: Annotated[Path, typer.Argument(help="A CSV of Canvas, Moodle or Gradescope, or with nbgrader's columns.")],
    course: CoursePath = Path("."),
) -> None:
    """Put the students of a CSV file into the gradebook. Who is there and not in the file stays."""
    with pause_gc():
        from autograder.gradebook.nbgrader_course import open_course
        from autograder.lms.people import group_same_names, list_people
        from autograder.lms.roster import read_roster, write_roster

    people = read_roster(file)
    api = open_course(course)
    with api.open_gradebook() as gradebook:
        new, known = write_roster(gradebook, people)
        for group in group_same_names(list_people(gradebook)):
            same = f"{', '.join(p.id for p in group)} have one name, {group[0].full_name}"
            err.print(f"{same}: a zip that goes by names cannot tell them apart", markup=False)
    out.print(f"{format_count(new, 'student')} added, {known} known before. Next: gradlab status")


@app.command()
def collect(
    lab: LabName,
    file: Annotated[Path, typer.Argument(help="The zip of all submissions, from Canvas, Moodle or Gradescope.")],
    course: CoursePath = Path("."),
    replace: Annotated[bool, typer.Option("--replace", help="Also in place of what the exchange brought.")] = False,
) -> None:
    """Put the submissions of an LMS's zip into submitted/. Those of the exchange: gradlab watch."""
    with pause_gc():
        from autograder.gradebook.nbgrader_course import open_course
        from autograder.lms.downloads import collect_zip, list_marked_late
        from autograder.lms.people import list_people
        from autograder.model.assignments import refuse_unknown_lab

    api = open_course(course)
    refuse_unknown_lab(course.resolve(), lab)
    with api.open_gradebook() as gradebook:
        people = list_people(gradebook)
    taken, trouble = collect_zip(file, course.resolve(), lab, people, replace)
    for line in trouble:
        err.print(line, markup=False)
    if late := list_marked_late(course.resolve(), lab, taken):
        err.print(
            f"Canvas calls late, and its zip does not say when they came: {', '.join(late)}\n"
            f"    to take something off, write submitted/STUDENT/{lab}/timestamp.txt, as 2027-02-01 18:30:00 UTC",
            markup=False,
        )
    then = f". Next: gradlab grade {quote(lab)}" if taken else ""
    out.print(f"{format_count(len(taken), 'submission')} of {lab} collected{then}")
    if trouble:
        raise GradlabError(f"not all of the zip could be collected: {format_count(len(trouble), 'reason')} above")


@app.command()
def export(
    course: CoursePath = Path("."),
    system: Annotated[System, typer.Option("--for", help="Whose form the file has.")] = System.CSV,
) -> None:
    """Write everybody's grades, a column for each lab, as a learning management system imports them."""
    with pause_gc():
        from autograder.base.text import join_names
        from autograder.classroom.term_names import list_unknown_names
        from autograder.exchange.inbox import read_exchange
        from autograder.gradebook.class_reader import list_labs, read_class
        from autograder.gradebook.nbgrader_course import open_course
        from autograder.gradebook.writer import open_gradebook
        from autograder.lms.grades import build_grade_table
        from autograder.lms.people import list_people
        from autograder.model.term import read_term
        from autograder.reports.tables import write_table

    api, root = open_course(course), course.resolve()
    url, term = api.db_url, read_term(root)
    names = [lab for lab in list_labs(url) if not term.lab(lab).practice]
    arrivals, _ = read_exchange(api, names)
    labs = [read_class(url, root, lab, arrivals, whole=False) for lab in names]
    graded = [lab for lab in labs if lab.graded]
    if not graded:
        raise GradlabError("the gradebook holds no marks yet: run gradlab grade LAB first")
    with open_gradebook(url, api.course_id) as gradebook:
        people = list_people(gradebook)
        print_doubtful(list_unknown_names(root, term, gradebook))
    path = root / "results" / ("marks.csv" if system is System.CSV else f"{system}.csv")
    write_table(path, *build_grade_table(system, people, graded))
    waiting = sum(member.waits for lab in graded for member in lab.members)
    strangers = sorted({member.student for lab in graded for member in lab.members if not member.on_roster})
    if strangers:
        err.print(f"in the file, and not on the roster: {join_names(strangers)}", markup=False)
    if waiting:
        err.print(
            f"{format_count(waiting, 'submission', 'waits', 'wait')} to be read by a person: points are still to come"
        )
    out.print(f"wrote {format_count(len(people), 'student')} and {format_count(len(graded), 'lab')} to {path}")
