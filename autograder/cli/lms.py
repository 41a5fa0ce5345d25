"""Commands that exchange data with a learning management system."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from autograder.base.errors import GradlabError
from autograder.cli.app import CoursePath, LabName, app, err, format_count, out, pause_gc, print_warnings


@app.command(rich_help_panel="Move students and grades")
def roster(
    file: Annotated[Path, typer.Argument(help="A CSV file from your LMS, or with nbgrader's columns.")],
    course: CoursePath = Path("."),
) -> None:
    """Add the students in a CSV file to the gradebook. Students who aren't in the file stay."""
    with pause_gc():
        from autograder.gradebook.nbgrader_course import open_course
        from autograder.lms.people import group_same_names, list_people
        from autograder.lms.roster import read_roster, write_roster

    people = read_roster(file)
    nbgrader = open_course(course)
    with nbgrader.open_gradebook() as gradebook:
        new, known = write_roster(gradebook, people)
        for group in group_same_names(list_people(gradebook)):
            same = f"{', '.join(p.id for p in group)} have the same name, {group[0].full_name}"
            err.print(f"{same}: a zip that identifies students by name can't tell them apart", markup=False)
    out.print(f"{format_count(new, 'student')} added, {known} already there. Next: gradlab status")


@app.command(rich_help_panel="Move students and grades")
def collect(
    lab: LabName,
    file: Annotated[Path, typer.Argument(help="The zip of all submissions, as your LMS makes it.")],
    course: CoursePath = Path("."),
    replace: Annotated[bool, typer.Option("--replace", help="Also replace submissions from the exchange.")] = False,
) -> None:
    """Put the submissions in a zip from an LMS into submitted/. For the exchange, use gradlab watch."""
    with pause_gc():
        from autograder.gradebook.nbgrader_course import open_course
        from autograder.lms.downloads import collect_zip
        from autograder.lms.people import list_people
        from autograder.model.assignments import refuse_unknown_lab

    nbgrader = open_course(course)
    refuse_unknown_lab(course.resolve(), lab)
    with nbgrader.open_gradebook() as gradebook:
        people = list_people(gradebook)
    collection = collect_zip(file, course.resolve(), lab, people, replace)
    for line in collection.problems:
        err.print(line, markup=False)
    if collection.late:
        err.print(
            f"late according to {collection.system.title}, whose zip has no times: {', '.join(collection.late)}\n"
            f"    for a penalty, write submitted/STUDENT/{lab}/timestamp.txt, as in 2027-02-01 18:30:00 UTC",
            markup=False,
        )
    then = f". Next: gradlab grade {quote(lab)}" if collection.collected else ""
    out.print(f"{format_count(len(collection.collected), 'submission')} of {lab} collected{then}")
    if collection.problems:
        count_text = format_count(len(collection.problems), "problem")
        raise GradlabError(f"not everything in the zip could be collected: {count_text} above")


@app.command(rich_help_panel="Move students and grades")
def export(
    course: CoursePath = Path("."),
    name: Annotated[
        str, typer.Option("--for", metavar="NAME", help="The format: an LMS such as canvas, or csv.")
    ] = "csv",
) -> None:
    """Write everyone's grades to a file that an LMS can import, with a column for each lab."""
    with pause_gc():
        from autograder.base.text import join_names
        from autograder.classroom.unknown_names import list_unknown_names
        from autograder.exchange.course_exchange import read_exchange
        from autograder.gradebook.class_reader import list_labs, read_class
        from autograder.gradebook.database import open_gradebook
        from autograder.gradebook.graded_files import Detail
        from autograder.gradebook.nbgrader_course import open_course
        from autograder.lms.learning_system import load_exporter
        from autograder.lms.people import list_people
        from autograder.model.term import read_term

    exporter = load_exporter(name)
    nbgrader, root = open_course(course), course.resolve()
    url, term = nbgrader.db_url, read_term(root)
    names = [lab for lab in list_labs(url) if not term.lab(lab).practice]
    arrivals, _ = read_exchange(nbgrader, names)
    labs = [read_class(url, root, lab, arrivals, Detail.MARKS) for lab in names]
    graded = [lab for lab in labs if lab.graded_members]
    if not graded:
        raise GradlabError("the gradebook has no marks yet", fix="run gradlab grade LAB first")
    with open_gradebook(url, nbgrader.course_id) as gradebook:
        people = list_people(gradebook)
        print_warnings([name.format() for name in list_unknown_names(root, term, gradebook)])
    path = root / "results" / exporter.file
    exporter.write(path, people, graded)
    waiting = sum(member.needs_manual_grade for lab in graded for member in lab.members)
    unenrolled = sorted({member.student for lab in graded for member in lab.members if not member.on_roster})
    if unenrolled:
        err.print(f"in the file, but not on the roster: {join_names(unenrolled)}", markup=False)
    if waiting:
        count_text = format_count(waiting, "submission", "has", "have")
        err.print(f"{count_text} answers that a person must still read, so points may be missing: gradlab desk")
    out.print(f"wrote {format_count(len(people), 'student')} and {format_count(len(graded), 'lab')} to {path}")
