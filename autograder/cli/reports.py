"""Commands that write pages and tables about a graded class."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.base.errors import GradlabError
from autograder.cli.app import CoursePath, LabName, app, err, format_count, out, pause_gc, print_warnings
from autograder.cli.feedback_output import print_still_working, print_unreachable, zip_pages

if TYPE_CHECKING:
    from autograder.gradebook.class_results import ClassResults
    from autograder.gradebook.nbgrader_course import NbgraderCourse
    from autograder.model.arrivals import Arrival


@app.command(rich_help_panel="Read and report")
def feedback(
    lab: LabName,
    course: CoursePath = Path("."),
    zipped: Annotated[
        str,
        typer.Option(
            "--zip", metavar="NAME", help="Also write the pages as one zip, named as this LMS expects, such as moodle."
        ),
    ] = "",
) -> None:
    """Write a feedback page for each graded submission."""
    with pause_gc():
        from autograder.classroom.assignment_kinds import open_assignment
        from autograder.gradebook.nbgrader_course import open_course
        from autograder.gradebook.result_reader import read_due_date, read_results
        from autograder.lms.feedback_zip import refuse_unnamed
        from autograder.lms.learning_system import load_system
        from autograder.model.term import read_term
        from autograder.nbgrader_plugin import make_default_config
        from autograder.reports.feedback import write_feedback
        from autograder.reports.feedback_release import make_releasable

    system = load_system(zipped) if zipped else None
    if system:
        refuse_unnamed(system, course.resolve(), lab)
    nbgrader = open_course(course)
    for line in open_assignment(course, lab).list_unread_page_settings(nbgrader.config, make_default_config()):
        err.print(line, markup=False)
    term = read_term(course)
    results = read_results(nbgrader.db_url, course.resolve(), lab, term)
    pages = write_feedback(results, course.resolve(), lab, term=term)
    if not pages:
        raise GradlabError(f"no graded submission of {lab}", fix=f"run gradlab grade {quote(lab)} first")
    if waiting := sum(result.needs_manual_grade for result in results):
        count_text = format_count(waiting, "submission", "has", "have")
        err.print(f"{count_text} answers that a person must still read, and the page says so")
    is_someone_working = print_still_working(term, lab, read_due_date(nbgrader.db_url, lab))
    unreachable = make_releasable(course, lab, pages)
    count_text = f"{format_count(len(pages), 'feedback page')} in {course / 'feedback'}"
    if system:
        out.print(count_text)
        zip_pages(system, course, lab, course / "results" / f"{lab}.{zipped}.zip", pages)
    else:
        then = print_unreachable(lab, pages, unreachable)
        out.print(f"{count_text}. Next: {then}{', once no one is working on the lab' if is_someone_working else ''}")


@app.command(rich_help_panel="Read and report")
def report(
    lab: Annotated[str, typer.Argument(help="The lab's name; without one, the report is about the term.")] = "",
    course: CoursePath = Path("."),
) -> None:
    """Write a report on a lab: marks, who needs attention, which checks failed. Without a lab, report on the term."""
    gc.disable()  # a large class is many live objects, and looking for garbage takes a fifth of the time
    from autograder.gradebook.class_reader import read_class
    from autograder.gradebook.nbgrader_course import open_course
    from autograder.model.term import read_term
    from autograder.reports.class_export import write_class_csv, write_class_json
    from autograder.reports.lab_report import write_report
    from autograder.reports.term_page import write_term_page

    if lab:
        nbgrader = open_course(course)
        arrivals, warnings = _read_arrivals(nbgrader, course, [lab], lab)
        class_results = read_class(nbgrader.db_url, course.resolve(), lab, arrivals)
        path = course / "results" / f"{lab}.html"
        write_report(class_results, path, warnings)
        write_class_csv(class_results, path.with_suffix(".csv"))
        write_class_json(class_results, path.with_suffix(".json"))
        print_warnings(warnings)
        out.print(f"wrote {path}, and the same as CSV and JSON next to it. Next: open it in a browser")
        return
    path = course / "results" / "term.html"
    classes, warnings = _read_classes(course)
    write_term_page(classes, read_term(course), path)
    print_warnings(warnings)
    out.print(f"wrote {path}, and its table as CSV next to it. Next: open it in a browser")


@app.command(rich_help_panel="Read and report")
def similar(lab: LabName, course: CoursePath = Path(".")) -> None:
    """Write a page of suspiciously similar pairs of submissions. A pair is a reason to look, not proof."""
    gc.disable()
    from autograder.gradebook.class_reader import read_class
    from autograder.gradebook.graded_files import Detail
    from autograder.gradebook.nbgrader_course import open_course
    from autograder.model.term import read_term
    from autograder.reports.similar_pairs import search_pairs
    from autograder.reports.similarity_page import collect_known_texts, collect_written_texts, write_similar_page

    term = read_term(course)
    class_results = read_class(open_course(course).db_url, course.resolve(), lab, detail=Detail.ANSWERS)

    def is_independent(first: str, second: str) -> bool:
        team = term.find_team(lab, first)
        return team is None or second not in team.members

    pairs = search_pairs(collect_written_texts(class_results), collect_known_texts(class_results), is_independent)
    if not class_results.graded_members:
        raise GradlabError(f"no graded submission of {lab}", fix=f"run gradlab grade {quote(lab)} first")
    path = course / "results" / f"{lab}.similar.html"
    write_similar_page(class_results, pairs, path)
    count_text = format_count(len(pairs.pairs) + pairs.more, "pair")
    notebooks = format_count(pairs.compared, "notebook")
    out.print(f"{count_text} to look at among {notebooks}. This isn't a verdict. Next: read {path}")


@app.command(rich_help_panel="Read and report")
def status(course: CoursePath = Path(".")) -> None:
    """Show the status of each lab (submitted, graded, waiting, late, missing), its dates, and what to do next."""
    from autograder.exchange.course_exchange import has_released_lab
    from autograder.gradebook.nbgrader_course import open_course
    from autograder.model.term import read_term
    from autograder.reports.calendar import build_calendar
    from autograder.reports.standing import Standing
    from autograder.reports.status import (
        build_dates_table,
        build_numbers_table,
        collect_next_steps,
        compute_status,
        list_first_steps,
    )

    classes, warnings = _read_classes(course)
    term = read_term(course)
    statuses = [compute_status(class_results, term.lab(class_results.lab)) for class_results in classes]
    begun = [status for status in statuses if status.submitters or status.counts[Standing.UNCOLLECTED]]
    if begun:
        _print_table(*build_numbers_table(begun), right=True)
    for class_results, lab_status in zip(classes, statuses, strict=True):
        if lab_status not in begun:
            count_text = format_count(len(class_results.members), "student")
            out.print(f"{class_results.lab}: none of {count_text} has submitted yet", markup=False)
    dates = build_calendar(classes, term)
    head, rows = build_dates_table(dates)
    if rows:
        _print_table(head, rows)
    for lab_dates in dates:
        if lab_dates.extensions:
            out.print(f"Extensions for {lab_dates.lab}, UTC: {lab_dates.format_extensions()}", markup=False)
    for line in warnings:
        out.print(line, markup=False)
    steps = collect_next_steps(begun) or ["gradlab report: everything is graded and read"]
    if not begun:
        is_released = has_released_lab(open_course(course), [status.lab for status in statuses])
        steps = list_first_steps(statuses, is_released)
    out.print("Next: " + "\n      ".join(steps), markup=False)


def _print_table(head: Sequence[str], rows: Sequence[Sequence[str]], right: bool = False) -> None:
    """Print a table. Cells wrap between words, and within words rather than being cut off.

    Args:
        right: Whether to align all columns but the first to the right.
    """
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name, *cells in zip(head, *rows, strict=True):
        width = max(len(word) for cell in (name, *cells) for word in [*cell.split(), ""])
        table.add_column(name, justify="right" if right and table.columns else "left", min_width=width, overflow="fold")
    for row in rows:
        table.add_row(*row)
    out.print(table)


def _read_classes(course: Path) -> tuple[list[ClassResults], list[str]]:
    """Read every lab that the gradebook knows, without checks and texts, and warnings."""
    from autograder.gradebook.class_reader import list_labs, read_class
    from autograder.gradebook.graded_files import Detail
    from autograder.gradebook.nbgrader_course import open_course

    gc.disable()
    nbgrader = open_course(course)
    url = nbgrader.db_url
    labs = list_labs(url)
    arrivals, warnings = _read_arrivals(nbgrader, course, labs)
    return [read_class(url, course.resolve(), lab, arrivals, Detail.MARKS) for lab in labs], warnings


def _read_arrivals(
    nbgrader: NbgraderCourse, course: Path, labs: Sequence[str], lab: str = ""
) -> tuple[list[Arrival], list[str]]:
    """Read what the exchange has for these labs, and warnings about it, submitted/ and term.toml.

    Args:
        lab: Look only at what term.toml says for this lab; empty for all.
    """
    from autograder.classroom.unknown_names import list_warnings
    from autograder.exchange.course_exchange import read_exchange
    from autograder.model.term import read_term

    arrivals, uncounted = read_exchange(nbgrader, labs)
    with nbgrader.open_gradebook() as gradebook:
        return arrivals, list_warnings(course, read_term(course), gradebook, lab) + uncounted
