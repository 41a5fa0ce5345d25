"""Commands that inspect this machine, and show Gradlab at work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from autograder.base.errors import format_problem
from autograder.cli.app import CoursePath, app, out


@app.command(rich_help_panel="Try Gradlab")
def doctor(course: CoursePath = Path(".")) -> None:
    """Show which sandbox layers this machine offers, what can be graded with them, and who can read the course."""
    from autograder.base.folder_readers import describe_readers
    from autograder.sandbox import Isolation, find_layers, find_strongest_level, report_layers

    layers = find_layers()
    table = Table("layer or level", "available", "note", box=None)
    for name, is_available, note in report_layers(layers):
        table.add_row(name, "[green]yes[/]" if is_available else "[red]no[/]", escape(note))
    out.print(table)
    if (course / "nbgrader_config.py").is_file() and (readers := describe_readers(course.resolve())):
        problem = f"\n{readers} can read this course, with its hidden checks and marks."
        out.print(format_problem(problem, f"chmod 700 {course.resolve()}"), markup=False)
    level = find_strongest_level(layers)
    if level is Isolation.FULL:
        out.print("\nSubmissions are fully isolated. Next: gradlab grade LAB")
    else:
        out.print(
            f"\nThe strongest level of this machine is --isolation={level}. Next: gradlab grade LAB --isolation={level}"
        )


@app.command(rich_help_panel="Try Gradlab")
def demo(
    folder: Annotated[Path, typer.Option(help="The folder for the demo's course; it replaces an earlier demo.")] = Path(
        "demo"
    ),
    course: CoursePath = Path("."),
) -> None:
    """Show Gradlab at work: prove labs, grade a small class, write feedback and a report."""
    from autograder.demo import run_demo

    run_demo(course, folder, out)
