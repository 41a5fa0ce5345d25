"""The command that opens the pages on which a person reads answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.app import CoursePath, app, out


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def desk(
    others: typer.Context,
    course: CoursePath = Path("."),
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the page's address alone.")] = False,
    port: Annotated[int, typer.Option(min=1, max=65535, help="The next free one where it is taken.")] = 8888,
) -> None:
    """Read answers and mark them by hand, in a browser. What else is given goes to Jupyter Server."""
    from jupyter_server.serverapp import ServerApp

    from autograder.desk.place import course_near

    folder = course_near(course)
    out.print("Reading answers: Ctrl-C ends it. Marks are in the gradebook as soon as they are saved.")
    arguments = [
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        f"--ServerApp.root_dir={folder}",
        "--ServerApp.base_url=/",
        "--ServerApp.default_url=/gradlab/desk/",
        "--ServerApp.jpserver_extensions=autograder.desk=True",
    ]
    if no_browser:
        arguments.append("--no-browser")
    ServerApp.launch_instance([*arguments, *others.args])
