"""Commands of an author: build, prove, new, and the release for students."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated

import typer

from autograder.base.errors import GradlabError
from autograder.cli.app import CPUS, CoursePath, LabName, LabNames, app, err, format_count, out, pause_gc


def require_labs(course: Path) -> None:
    """Raise GradlabError in the folder of a course whose labs are written elsewhere."""
    if (course / "nbgrader_config.py").exists() and not (course / "labs" / "course.toml").exists():
        raise GradlabError(
            f"{course.resolve()} has no labs/course.toml: it grades labs, and does not hold what they are written in\n"
            "    fix: run this where labs/ is (a clone of the repository), or copy labs/ beside source/"
        )


@app.command()
def build(
    labs: LabNames = None,
    course: CoursePath = Path("."),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail naming the files that are stale.")
    ] = False,
) -> None:
    """Make source/, release/ and solutions/ from labs/; of labs that are named, their notebooks alone."""
    from autograder.authoring.course_folder import build as build_all
    from autograder.authoring.course_folder import find_stale_files, read_course

    require_labs(course)
    read, named = read_course(course), tuple(labs or ())
    number = format_count(len(set(named)) or len(read.labs), "lab")
    if check:
        if files := find_stale_files(read, named):
            listed = "\n".join(f"  {f}" for f in files)
            raise GradlabError(f"stale, missing or stray:\n{listed}\n    fix: run gradlab build and commit the result")
        out.print(f"{number} up to date. Next: gradlab prove")
        return
    changed = build_all(read, named)
    for path in changed:
        out.print(f"{'wrote' if path.exists() else 'removed'} {path}")
    out.print(f"{number} built, {format_count(len(changed), 'file')} changed. Next: gradlab prove")


@app.command()
def release(
    student: Annotated[Path, typer.Option("--student", help="The new folder; FOLDER.zip is written beside it.")],
    labs: LabNames = None,
    course: CoursePath = Path("."),
) -> None:
    """Write what a student needs to work at home: labs and labkit, without solutions and without the grader."""
    from autograder.authoring.course_folder import read_course
    from autograder.authoring.student_release import write_student_release

    require_labs(course)
    path = write_student_release(read_course(course), student.resolve(), tuple(labs or ()))
    out.print(f"wrote {student} and {path.name}. Next: hand out the zip; its README says how to begin")


@app.command()
def prove(
    labs: LabNames = None,
    course: CoursePath = Path("."),
    mutate: Annotated[bool, typer.Option("--mutate", help="Also edit each reference one step at a time.")] = False,
    exercise: Annotated[str, typer.Option(help="Prove only this exercise.")] = "",
    update: Annotated[
        bool, typer.Option("--update", help="Write fails= of wrong answers anew where they fail other checks.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Prove those too that are as they were when they were proved.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Labs proved at a time.")] = CPUS,
) -> None:
    """Prove every check with right, wrong and lying answers."""
    with pause_gc():
        from autograder.authoring.course_folder import read_course, read_labs
        from autograder.proving.labs import prove_labs
        from autograder.proving.proof_store import load_proof, save_proof
        from autograder.proving.update import update_lists

    require_labs(course)
    problems = written = 0
    read = list(read_labs(read_course(course), tuple(labs or ())))
    if exercise and exercise not in (known := [e.name for lab in read for e in lab.exercises]):
        raise GradlabError(f"no exercise {exercise!r}: there are {', '.join(known)}")
    whole = not (mutate or exercise)
    before = [] if again or not whole else [proof for lab in read if (proof := load_proof(lab))]
    left = [lab for lab in read if lab.name not in {proof.lab for proof in before}]
    for proof in itertools.chain(before, prove_labs(left, jobs, mutate, exercise)):
        line = f"{proof.lab}: {proof.right} right, {proof.wrong} wrong and {proof.generated} generated answers tried"
        if mutate:
            line += f", {format_count(proof.mutants, 'mutant')} ({len(proof.survivors)} equivalent)"
        line += (
            f"; {proof.lies} lies earn {sum(proof.lied.values()):g} points outside observed checks, "
            f"false claims of a technique {sum(proof.claimed.values()):g} of {proof.points:g}"
        )
        out.print(f"{line}, {'the same as before' if proof.kept else format_count(len(proof.problems), 'problem')}")
        if whole and not proof.kept:
            save_proof(next(lab for lab in read if lab.name == proof.lab), proof)
        put_right = proof.outdated if update else {}
        if put_right:
            out.print(update_lists(put_right.values()), markup=False)
            out.print(
                f"{format_count(len(put_right), 'list')} written anew. Read the difference: is each what it should be?"
            )
        written += len(put_right)
        unsolved = [problem for problem in proof.problems if problem not in put_right]
        for problem in unsolved:
            err.print(problem, markup=False)
        problems += len(unsolved)
    if problems:
        raise GradlabError(
            f"{format_count(problems, 'problem')}: the checks are not proved. Put that right and run "
            "gradlab prove again"
        )
    if written:
        out.print("Next: gradlab prove, which tries the lists that were written")
    elif exercise:
        out.print(f"The checks of {exercise} are proved. Next: gradlab prove of its whole lab")
    else:
        out.print("Every check is proved. Next: gradlab demo, or release the labs with nbgrader")


@app.command()
def new(lab: LabName, course: CoursePath = Path(".")) -> None:
    """Start a lab: a lesson and an exercise that build and prove, to be replaced piece by piece."""
    from autograder.authoring.new_lab import create_lab

    path = create_lab(course, lab)
    out.print(f"wrote {path}/lab.py and exercises/, and listed {lab} in labs/course.toml. Next: gradlab prove {lab}")
