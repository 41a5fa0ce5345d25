"""The command line: thin, one function a command. Errors that a person can act on are printed without a traceback."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from autograder.errors import GradlabError

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help=__doc__)
CoursePath = Annotated[Path, typer.Option("--course", help="The course's folder: the one that holds labs/.")]
LabNames = Annotated[list[str] | None, typer.Argument(help="Labs by name; all of them where none is named.")]
out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


@app.command()
def build(
    course: CoursePath = Path("."),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail naming the files that are stale.")
    ] = False,
) -> None:
    """Make source/, release/ and solutions/ from labs/."""
    from autograder.build.course import build as build_all
    from autograder.build.course import read_course, stale

    read = read_course(course)
    if check:
        if files := stale(read):
            listed = "\n".join(f"  {f}" for f in files)
            raise GradlabError(f"stale, missing or stray:\n{listed}\n    fix: run gradlab build and commit the result")
        out.print(f"{len(read.labs)} labs are up to date. Next: gradlab prove")
        return
    changed = build_all(read)
    for path in changed:
        out.print(f"{'wrote' if path.exists() else 'removed'} {path}")
    out.print(f"{len(read.labs)} labs built, {len(changed)} files changed. Next: gradlab prove")


@app.command()
def prove(
    labs: LabNames = None,
    course: CoursePath = Path("."),
    mutate: Annotated[bool, typer.Option("--mutate", help="Also edit each reference one step at a time.")] = False,
) -> None:
    """Prove every check with right and wrong answers."""
    from autograder.build.course import read_course, read_labs
    from autograder.prove.lab import prove_lab

    problems = 0
    for lab in read_labs(read_course(course), tuple(labs or ())):
        proof = prove_lab(lab, mutate)
        line = f"{lab.name}: {proof.right} right, {proof.wrong} wrong and {proof.generated} generated answers tried"
        if mutate:
            line += f", {proof.mutants} mutants ({len(proof.survivors)} equivalent)"
        out.print(f"{line}, {len(proof.problems)} problems")
        for problem in proof.problems:
            err.print(problem, markup=False)
        problems += len(proof.problems)
    if problems:
        raise GradlabError(
            f"{problems} problems: the checks are not proved. Put them right and run gradlab prove again"
        )
    out.print("Every check is proved. Next: gradlab demo, or release the labs with nbgrader")


def main() -> None:
    try:
        app()
    except GradlabError as error:
        err.print(f"gradlab: {error}", markup=False)
        sys.exit(1)
    except KeyboardInterrupt:
        err.print("gradlab: interrupted")
        sys.exit(130)


if __name__ == "__main__":
    main()
