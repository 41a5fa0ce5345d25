"""Shared by all commands: the application, its consoles, and how errors end it."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from autograder.base.atomic_files import is_disk_full_error
from autograder.base.errors import GradlabError, format_problem
from autograder.base.processors import count_processors
from autograder.base.text import format_count as format_count
from autograder.base.text import replace_controls

DOC = "A course whose labs grade themselves. For a whole term, step by step, see docs/teaching.md."
app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help=DOC)
CoursePath = Annotated[Path, typer.Option("--course", help="The course's folder: the one with nbgrader_config.py.")]
LabNames = Annotated[list[str] | None, typer.Argument(help="Names of labs; all labs by default.")]
CPUS = count_processors()
SEE_ABOVE = "read the reasons above, and run the same command again"
USUAL_UMASK = 0o022  # of systems, and of users who haven't chosen one
PER_CPU = "one per processor"  # as help says it, the same on every machine
Jobs = Annotated[int, typer.Option(min=1, help="Submissions graded at a time.", show_default=PER_CPU)]
IsolationName = Annotated[str, typer.Option(help="Accept a weaker sandbox: a level that gradlab doctor lists.")]
ClusterAddress = Annotated[
    str, typer.Option(metavar="ADDRESS", help="Grade on the workers of this dask scheduler, e.g. tcp://HOST:8786.")
]
ExecutorName = Annotated[
    str,
    typer.Option(
        "--executor", metavar="NAME", help="What ADDRESS is: dask, or an executor that another package provides."
    ),
]
# What these write is about students. Other commands write what is published.
PRIVATE_COMMANDS = frozenset(
    {"collect", "excuse", "export", "extend", "grade", "regrade", "report", "roster", "similar", "watch"}
)
LabName = Annotated[str, typer.Argument(help="The lab's name: its folder in source/.")]


@app.callback(help=DOC)
def keep_files_private(context: typer.Context) -> None:
    """Let only the user who runs the command read what it writes about students.

    Someone who has set another umask, such as 007 for a course that a group shares, is asked nothing.
    """
    if context.invoked_subcommand in PRIVATE_COMMANDS and (before := os.umask(0o077)) != USUAL_UMASK:
        os.umask(before)


class Terminal(Console):
    """A console that prints text as it is, so :100: stays a line number, except for controls.

    No text can move the cursor, set a title or hide text, since students name files and cells.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(emoji=False, **options)

    def render_str(self, text: str, *args: Any, **kwargs: Any) -> Text:
        return super().render_str(replace_controls(text), *args, **kwargs)


out = Terminal(highlight=False, soft_wrap=True)
err = Terminal(stderr=True, highlight=False, soft_wrap=True)


def print_warnings(lines: Sequence[str], max_lines: int = 3) -> None:
    """Print the first few lines about what counts for no one, or has no effect, to stderr."""
    for line in lines[:max_lines]:
        err.print(line, markup=False)
    if len(lines) > max_lines:
        err.print(f"and {format_count(len(lines) - max_lines, 'more warning')}; run gradlab status to see them")


@contextlib.contextmanager
def pause_gc() -> Iterator[None]:
    """Pause the garbage collector: imports make no garbage, and looking for it takes 0.6 s if torch is imported."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def main() -> None:
    """Run a command. Errors that a person can act on are printed without a traceback."""
    try:
        app()
    except GradlabError as error:
        err.print(f"gradlab: {error}", markup=False)
        sys.exit(1)
    except OSError as error:
        if is_disk_full_error(error):
            fix = "free some space, then run the same command to continue"
            err.print(format_problem(f"gradlab: the disk is full: {error}", fix), markup=False)
        elif error.filename is not None:
            err.print(f"gradlab: {error.filename}: {error.strerror}", markup=False)
        else:  # no memory, processes or descriptors left
            err.print(format_problem(f"gradlab: {error}", "try again with fewer --jobs"), markup=False)
        sys.exit(1)
    except KeyboardInterrupt:
        err.print("gradlab: interrupted")
        sys.exit(130)


def run() -> None:
    """Run main(), and end the process without the interpreter's cleanup, which takes up to a second with torch."""
    try:
        main()
    except SystemExit as exit_:
        if not isinstance(exit_.code, int):
            raise
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):  # its reader is gone
                stream.flush()
        os._exit(exit_.code)
