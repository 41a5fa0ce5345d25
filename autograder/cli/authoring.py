"""Commands for authors: build, prove, new, and the release for students."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.base.errors import GradlabError
from autograder.cli.app import CPUS, PER_CPU, CoursePath, LabNames, app, err, format_count, out, pause_gc
from autograder.model.term import read_term

if TYPE_CHECKING:
    from autograder.proving.proof import Proof


def require_labs(course: Path) -> None:
    """Raise GradlabError in the folder of a course whose labs are written elsewhere."""
    if (course / "nbgrader_config.py").exists() and not (course / "labs" / "course.toml").exists():
        raise GradlabError(
            f"{course.resolve()} has no labs/course.toml: this course grades labs, but doesn't have their source",
            fix="run this where labs/ is (a clone of the repository), or copy labs/ next to source/",
        )


@app.command(rich_help_panel="Write a course")
def build(
    labs: LabNames = None,
    course: CoursePath = Path("."),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail and list the files if any are out of date.")
    ] = False,
) -> None:
    """Build source/, release/ and solutions/ from labs/; with names of labs, only their notebooks."""
    from autograder.authoring.course_folder import build_course, find_stale_files, read_course

    require_labs(course)
    manifest, names = read_course(course, read_term(course).further), tuple(labs or ())
    count_text = format_count(len(set(names)) or len(manifest.labs), "lab")
    if check:
        if files := find_stale_files(manifest, names):
            lines = "\n".join(f"  {f}" for f in files)
            raise GradlabError(
                f"out of date, missing or left over:\n{lines}", fix="run gradlab build and commit the result"
            )
        out.print(f"{count_text} up to date. Next: gradlab prove")
        return
    changed = build_course(manifest, names)
    for path in changed:
        out.print(f"{'wrote' if path.exists() else 'removed'} {path}")
    out.print(f"{count_text} built, {format_count(len(changed), 'file')} changed. Next: gradlab prove")


@app.command("pages", rich_help_panel="Write a course")
def write_pages(
    folder: Annotated[Path, typer.Argument(help="Where to write them, such as the folder of a web server.")],
    course: CoursePath = Path("."),
) -> None:
    """Write web pages with the labs' texts, to read without installing anything."""
    from autograder.authoring.course_folder import read_course
    from autograder.reports.lab_pages import write_lab_pages

    require_labs(course)
    written = write_lab_pages(read_course(course, read_term(course).further), folder)
    out.print(f"wrote {format_count(len(written), 'page')}. Next: open {folder / 'index.html'}", markup=False)


@app.command(rich_help_panel="Write a course")
def release(
    folder: Annotated[Path, typer.Option("--student", help="The new folder; FOLDER.zip is written next to it.")],
    labs: LabNames = None,
    course: CoursePath = Path("."),
    address: Annotated[
        str, typer.Option(metavar="URL", help="Where students will reach the folder, to install labkit from.")
    ] = "",
    github: Annotated[
        str,
        typer.Option(
            metavar="OWNER/REPO[@BRANCH]", help="The repository on GitHub for the folder; adds links to Colab."
        ),
    ] = "",
) -> None:
    """Write a zip for students to work at home: the labs and labkit, without solutions and the grader."""
    from autograder.authoring.course_folder import read_course
    from autograder.authoring.publication import read_publication
    from autograder.authoring.student_release import write_student_release

    require_labs(course)
    publication = read_publication(address, github)
    manifest = read_course(course, read_term(course).further)
    path = write_student_release(manifest, folder.resolve(), tuple(labs or ()), publication)
    push = f", or push {folder} to {github}" if github else f", or copy {folder} to {address}" if address else ""
    out.print(f"wrote {folder} and {path.name}. Next: hand out the zip{push}; its README says how to start")


@app.command(rich_help_panel="Write a course")
def prove(
    labs: LabNames = None,
    course: CoursePath = Path("."),
    mutate: Annotated[bool, typer.Option("--mutate", help="Also try small edits of each reference.")] = False,
    exercise: Annotated[str, typer.Option(help="Prove only this exercise.")] = "",
    update: Annotated[
        bool, typer.Option("--update", help="Update fails= of wrong answers that now fail other checks.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Also prove labs that haven't changed since they were proved.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Labs proved at a time.", show_default=PER_CPU)] = CPUS,
) -> None:
    """Prove every check with right, wrong and lying answers."""
    with pause_gc():
        from autograder.authoring.course_folder import read_course, read_labs
        from autograder.proving.expected_failures import update_fails_options
        from autograder.proving.parallel_proofs import iter_proofs

    require_labs(course)
    selected = list(read_labs(read_course(course), tuple(labs or ())))
    if exercise and exercise not in (names := [e.name for lab in selected for e in lab.exercises]):
        raise GradlabError(f"no exercise {exercise!r}", fix=f"name one of {', '.join(names)}")
    problems = updated = 0
    for proof in iter_proofs(selected, jobs, mutate, exercise, again):
        _print_proof(proof, mutate)
        if exercise in proof.exercises:
            _print_breaches(proof.exercises[exercise].breaches)
        outdated = proof.outdated if update else {}
        if outdated:
            out.print(update_fails_options(outdated.values()), markup=False)
            out.print(f"{format_count(len(outdated), 'list')} updated. Read the difference: is it what you expect?")
        unsolved = [problem for problem in proof.problems if problem not in outdated]
        for problem in unsolved:
            err.print(problem, markup=False)
        updated, problems = updated + len(outdated), problems + len(unsolved)
    if problems:
        raise GradlabError(
            f"the checks are not proved: {format_count(problems, 'problem')}, above",
            fix="correct them, and run this again",
        )
    if updated:
        command = shlex.join(["gradlab", "prove", *(labs or ()), *(["--exercise", exercise] if exercise else [])])
        out.print(f"Next: {command}, which tries the updated lists", markup=False)
        return
    lab_name = next((lab.name for lab in selected if exercise in (e.name for e in lab.exercises)), "")
    _print_success(exercise, lab_name)


def _print_success(exercise: str, lab: str) -> None:
    """Print what is proved, and what comes next.

    Args:
        exercise: The only exercise that was proved; empty if all were.
        lab: The lab with this exercise.
    """
    if exercise:
        out.print(f"The checks of {exercise} are proved. Next: gradlab prove {lab}, the whole lab")
    else:
        out.print("Every check is proved. Next: gradlab demo, or release the labs with nbgrader")


def _print_breaches(breaches: Mapping[str, Sequence[str]]) -> None:
    """Print each promise, and the answers that break only this one."""
    from autograder.base.text import join_names

    for number, (sentence, labels) in enumerate(breaches.items(), start=1):
        count = format_count(len(labels), "answer")
        out.print(f"  {number}. {sentence}\n     broken alone by {count}: {join_names(labels) or '-'}", markup=False)


def _print_proof(proof: Proof, mutate: bool) -> None:
    """Print how many answers were tried, and what lies earn.

    Args:
        mutate: Whether small edits of each reference were tried, too.
    """
    proofs = proof.exercises.values()
    line = f"{proof.lab}: {proof.right} right, {proof.wrong} wrong and {proof.generated} generated answers tried"
    if mutate:
        survivors = sum(len(p.survivors) for p in proofs)
        line += f", {format_count(sum(p.mutants for p in proofs), 'mutant')} ({survivors} equivalent)"
    line += (
        f"; {proof.lies} lies earn {proof.generated_liar_points:g} points outside observed checks, "
        f"false claims of a technique {proof.written_liar_points:g} of {proof.points:g}, "
        f"{format_count(len(proof.problems), 'problem')}"
    )
    if kept := sum(p.kept for p in proofs):
        line += f"; {'unchanged' if kept == len(proofs) else f'{kept} of {len(proofs)} exercises unchanged'}"
    out.print(line)


@app.command(rich_help_panel="Write a course")
def new(
    lab: Annotated[str, typer.Argument(help="The new lab's name, as it will be in labs/course.toml.")],
    course: CoursePath = Path("."),
) -> None:
    """Create a lab: a lesson and an exercise that build and prove, for you to replace piece by piece."""
    from autograder.authoring.new_lab import create_lab

    path = create_lab(course, lab)
    out.print(f"wrote {path}/lab.py and exercises/, and added {lab} to labs/course.toml. Next: gradlab prove {lab}")
