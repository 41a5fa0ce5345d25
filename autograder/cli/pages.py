"""Commands that write pages and tables of a graded class."""

from __future__ import annotations

import gc
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.cli.app import CoursePath, LabName, app, count, out
from autograder.errors import GradlabError

if TYPE_CHECKING:
    from autograder.gradebook.class_schema import LabClass


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
def report(
    lab: Annotated[str, typer.Argument(help="The lab's name; without one, a page about the term.")] = "",
    course: CoursePath = Path("."),
) -> None:
    """Write a page about a class: marks, who needs a look, where points were lost. Without a lab: about the term."""
    from autograder.reports import charts

    gc.disable()  # a large class is many objects, all of them alive: looking for others takes a fifth of the time
    Thread(target=charts.script, daemon=True).start()  # takes a second of another core
    from autograder.gradebook.class_reader import read_class
    from autograder.grading.nbgrader_api import inbound_of, open_course
    from autograder.reports.class_export import write_class_csv, write_class_json
    from autograder.reports.report import write_report
    from autograder.reports.term import write_term
    from autograder.term import read_term

    if lab:
        api = open_course(course)
        group = read_class(api.coursedir.db_url, course.resolve(), lab, inbound_of(api))
        path = course / "results" / f"{lab}.html"
        write_report(group, path)
        write_class_csv(group, path.with_suffix(".csv"))
        write_class_json(group, path.with_suffix(".json"))
        out.print(f"wrote {path}, and the same as CSV and JSON beside it. Next: open it in a browser")
        return
    path = course / "results" / "term.html"
    practice = {name for name, of_lab in read_term(course).labs.items() if of_lab.practice}
    write_term(_classes(course), frozenset(practice), path)
    out.print(f"wrote {path}, and its table as CSV beside it. Next: open it in a browser")


@app.command()
def status(course: CoursePath = Path(".")) -> None:
    """Say where each lab stands: handed in, graded, waiting, late, missing; and what to do next."""
    from rich.table import Table

    from autograder.reports.standing import Standing
    from autograder.reports.status import next_steps, status_of

    found = [status_of(group) for group in _classes(course)]
    begun = [each for each in found if each.handed_in or each.uncollected]
    table = Table(box=None, pad_edge=False)
    table.add_column("lab", no_wrap=True)
    for head in ("handed in", "graded", *Standing, "mean"):
        table.add_column(head, justify="right", min_width=max(map(len, head.split())))
    for each in begun:
        counts = (each.handed_in, each.graded, *each.counts.values())
        table.add_row(each.lab, *map(str, counts), "" if each.mean is None else f"{each.mean:.0%}")
    if begun:
        out.print(table)
    untouched = len(found) - len(begun)
    if untouched:
        out.print(f"{count(untouched, 'lab')} that nobody handed in yet.")
    steps = next_steps(begun) or ["gradlab report: all is graded and read"] if begun else ["nbgrader collect LAB"]
    out.print("Next: " + "\n      ".join(steps), markup=False)


def _classes(course: Path) -> list[LabClass]:
    """Every lab that the gradebook knows, without checks and texts."""
    from autograder.gradebook.class_reader import labs_in, read_class
    from autograder.grading.nbgrader_api import inbound_of, open_course

    gc.disable()
    api = open_course(course)
    url, inbound = api.coursedir.db_url, inbound_of(api)
    return [read_class(url, course.resolve(), lab, inbound, whole=False) for lab in labs_in(url)]


@app.command()
def export(course: CoursePath = Path(".")) -> None:
    """Write every mark of every lab to results/marks.csv."""
    from autograder.authoring.course_folder import read_course
    from autograder.gradebook.class_reader import labs_in
    from autograder.grading.nbgrader_api import open_course
    from autograder.reports.export import write_csv

    api = open_course(course)
    path = course / "results" / "marks.csv"
    built = (course / "labs" / "course.toml").exists()  # else the course was made for stock nbgrader
    labs = [e.name for e in read_course(course).labs] if built else labs_in(api.coursedir.db_url)
    rows = write_csv(api.coursedir.db_url, course.resolve(), labs, path)
    out.print(f"wrote {rows} marks to {path}")
