"""The command that opens the pages for marking answers by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.app import CoursePath, app


@app.command(
    rich_help_panel="Read and report", context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def desk(
    context: typer.Context,
    course: CoursePath = Path("."),
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the page's address.")] = False,
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port, or the next free one.")] = 8888,
) -> None:
    """Read answers and mark them by hand, in a browser. Other options are passed to Jupyter Server."""
    from autograder.desk.course_desk import find_course
    from autograder.desk.desk_server import serve_desk

    serve_desk(find_course(course), port, not no_browser, context.args)
