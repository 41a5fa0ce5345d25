"""Commands that write pages and tables of a graded class."""

from __future__ import annotations

from pathlib import Path

from autograder.cli.app import CoursePath, LabName, app, out
from autograder.errors import GradlabError


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
    """Write a page about a class: marks, who needs a look, where points were lost. The same as CSV and JSON."""
    from autograder.gradebook.class_reader import read_class
    from autograder.grading.nbgrader_api import inbound_of, open_course
    from autograder.reports.class_export import write_class_csv, write_class_json
    from autograder.reports.report import write_report

    api = open_course(course)
    group = read_class(api.coursedir.db_url, course.resolve(), lab, inbound_of(api))
    path = course / "results" / f"{lab}.html"
    write_report(group, path)
    write_class_csv(group, path.with_suffix(".csv"))
    write_class_json(group, path.with_suffix(".json"))
    out.print(f"wrote {path}, and the same as CSV and JSON beside it. Next: open it in a browser")


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
