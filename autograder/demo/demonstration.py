"""Runs the demo from an empty folder to a report, and compares every mark with the expected one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from autograder.authoring.course_folder import build_course, read_course, read_labs
from autograder.base.errors import GradlabError
from autograder.base.processors import count_processors
from autograder.base.progress_bar import show_progress
from autograder.base.text import format_count, join_names
from autograder.classroom.open_class import grade_lab
from autograder.demo.students import DemoSubmission, make_class
from autograder.gradebook.class_reader import read_class
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.result_reader import read_results
from autograder.gradebook.submission_result import SubmissionResult
from autograder.model.course import Lab
from autograder.proving.parallel_proofs import prove_labs
from autograder.reports.feedback import write_feedback
from autograder.reports.lab_report import write_report
from autograder.sandbox import find_layers, find_strongest_level
from autograder.workers.executors import LocalExecutor

PROVED = 2  # labs that the demo proves
MARKER = ".gradlab-demo"


def run_demo(course: Path, folder: Path, out: Console) -> None:
    """Build a course in `folder`, prove its first labs, and grade a class on the first.

    Args:
        course: The course to copy.
        folder: An empty or new folder, or that of an earlier demo, which is deleted.

    Raises:
        GradlabError: If a mark isn't the expected one.
    """
    folder = folder.resolve()
    labs = _create_course(course, folder)
    out.print(f"built {format_count(len(labs), 'lab')} in {folder}")
    _prove_labs(labs[:PROVED], out)
    lab = labs[0]
    members = list(make_class(lab))
    for member in members:
        submitted = folder / "submitted" / member.student / lab.name
        submitted.mkdir(parents=True)
        (submitted / f"{lab.name}.ipynb").write_bytes(member.file)
    results = _grade(folder, lab, len(members), out)
    wrong = _report_marks(members, results, lab, out)
    if wrong:
        raise GradlabError(f"these students don't have the expected marks: {', '.join(wrong)}. Please report this")
    out.print(f"Every mark is as expected.\n\nreport:   {folder / 'results' / f'{lab.name}.html'}")
    out.print(f"feedback: {folder / 'feedback' / 'wrong_1' / lab.name / f'{lab.name}.html'}, and one for each student")
    out.print("\nNext: make lab opens the released labs in JupyterLab as a student sees them;")
    out.print("      . .venv/bin/activate puts gradlab and nbgrader on your path, and then")
    out.print(f"      gradlab grade {lab.name} --course {folder} grades this class again;")
    out.print("      docs/teaching.md says how to release a lab to your own class.")


def _create_course(course: Path, folder: Path) -> list[Lab]:
    """Copy the course into an empty folder, or one from an earlier demo, build it there and return its labs."""
    if folder.exists():
        if not (folder / MARKER).exists() and any(folder.iterdir()):
            raise GradlabError(
                f"{folder} contains files that aren't from a demo", fix="choose another folder with --folder"
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    (folder / MARKER).touch()
    read_course(course)
    ignore = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(course / "labs", folder / "labs", ignore=ignore)
    shutil.copy(course / "nbgrader_config.py", folder)
    copied = read_course(folder)
    build_course(copied)
    return list(read_labs(copied))


def _prove_labs(labs: Sequence[Lab], out: Console) -> None:
    with out.status(f"proving {join_names([lab.name for lab in labs])}"):
        for proof in prove_labs(labs, count_processors()):
            counts = f"{proof.right} right, {proof.wrong} wrong, {proof.generated} generated answers"
            out.print(f"proved {proof.lab}: {counts}")
            if proof.problems:
                raise GradlabError("\n".join(proof.problems))


def _grade(folder: Path, lab: Lab, count: int, out: Console) -> dict[str, SubmissionResult]:
    level = find_strongest_level(find_layers())
    out.print(f"submissions are isolated at the level {level.value}; gradlab doctor lists the layers")
    nbgrader = open_course(folder, level)
    with show_progress(out, f"grading {count} submissions of {lab.name}", count) as counter:
        for outcome in grade_lab(nbgrader, lab.name, LocalExecutor(count_processors())):
            counter.advance(bool(outcome.failure))
            if outcome.failure:
                out.print(f"{outcome.student}: {outcome.failure}", markup=False)
    results = read_results(nbgrader.db_url, folder, lab.name)
    write_feedback(results, folder, lab.name)
    write_report(read_class(nbgrader.db_url, folder, lab.name), folder / "results" / f"{lab.name}.html")
    return {r.student: r for r in results}


def _report_marks(
    members: list[DemoSubmission], results: dict[str, SubmissionResult], lab: Lab, out: Console
) -> list[str]:
    """Print the table of marks, and return the students whose mark isn't the expected one."""
    by_hand = sum(c.points for c in lab.questions)
    table = Table("student", "points", "expected", title=f"{lab.name}, {lab.worth:g} points, {by_hand:g} by hand")
    wrong = []
    for member in members:
        result = results.get(member.student)
        points = f"{result.points:g}" if result else "none"
        if result is None or abs(result.points - member.points) > 1e-6:
            wrong.append(member.student)
        table.add_row(member.student, points, f"{member.points:g}")
    out.print(table)
    return wrong
