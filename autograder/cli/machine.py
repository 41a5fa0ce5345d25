"""Commands that look at a machine, and that show the main job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from autograder.cli.app import CoursePath, app, out


@app.command()
def doctor() -> None:
    """Show which layers of the sandbox this machine gives, and what can be graded with them."""
    from autograder.sandbox import find_layers, find_strongest_level, report

    found = find_layers()
    table = Table("layer or level", "there", "note", box=None)
    for name, there, note in report(found):
        table.add_row(name, "[green]yes[/]" if there else "[red]no[/]", escape(note))
    out.print(table)
    level = find_strongest_level(found)
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
