"""A page for each student: what passed, what failed and why, hints, and the student's own code, output and pictures.

It holds no line of a hidden check, no input and no expected value.
"""

from __future__ import annotations

import base64
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.course import Kind
from autograder.gradebook.reader import read_notebook
from autograder.gradebook.schema import ExerciseResult, SubmissionResult
from autograder.metadata import cell_name, name_of
from autograder.reports.pages import render
from autograder.reports.student_view import student_view

MAX_TEXT = 20_000  # characters of one output
MAX_PIXELS = 20_000_000  # of one picture: a few kilobytes of PNG can fill a browser's memory


@dataclass
class Shown:
    """A cell of the student's with what it printed and drew. pictures: PNG as base64, SVG is left out."""

    source: str
    text: str = ""
    pictures: list[str] = field(default_factory=list)


def write_feedback(results: list[SubmissionResult], course: Path, lab: str) -> list[Path]:
    """Write feedback/STUDENT/LAB/LAB.html for each graded submission, where nbgrader's release_feedback looks."""
    pages = []
    for result in results:
        autograded = course / "autograded" / result.student / lab
        if not (autograded / f"{lab}.ipynb").exists():
            continue
        folder = course / "feedback" / result.student / lab
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("timestamp.txt", "submission_secret.txt"):
            if (autograded / name).exists():
                shutil.copyfile(autograded / name, folder / name)
        page = folder / f"{lab}.html"
        page.write_text(feedback_page(result, autograded / f"{lab}.ipynb"), encoding="utf-8")
        pages.append(page)
    return pages


def feedback_page(result: SubmissionResult, autograded: Path) -> str:
    """The page as HTML. autograded: the notebook with the student's own cells and their outputs."""
    notebook = read_notebook(autograded)
    cells = {e.name: own_cells(notebook, e) for e in result.exercises}
    return render("feedback.html.j2", result=result, checks=student_view(result.exercises), cells=cells)


def own_cells(notebook: Any, exercise: ExerciseResult) -> list[Shown]:
    """The exercise's cell, or the question's, and the cells that the student added after it."""
    wanted = cell_name(Kind.QUESTION if exercise.by_hand else Kind.EXERCISE, exercise.name)
    shown = []
    inside = False
    for cell in notebook.cells:
        course_cell = "nbgrader" in cell.metadata
        if course_cell:
            inside = name_of(cell) == wanted
        if inside and (course_cell or cell.cell_type == "code"):
            shown.append(_shown(cell))
    return shown


def _shown(cell: Any) -> Shown:
    shown = Shown(cell.source)
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            shown.text += output.text
        elif output.output_type == "error":
            shown.text += f"{output.ename}: {output.evalue}\n"
        else:
            picture = output.data.get("image/png")
            if isinstance(picture, str) and _pixels(picture) <= MAX_PIXELS:
                shown.pictures.append("".join(picture.split()))
            elif isinstance(picture, str):
                shown.text += f"(a picture of {_pixels(picture):,} pixels is left out)\n"
            else:
                shown.text += str(output.data.get("text/plain", "")) + "\n"
    if len(shown.text) > MAX_TEXT:
        shown.text = shown.text[:MAX_TEXT] + "\n(cut off here)"
    return shown


def _pixels(png: str) -> int:
    """Width times height, as the head of the PNG in this base64 text says; 0 where it is none."""
    try:
        head = base64.b64decode("".join(png[:200].split())[:32], validate=True)
    except ValueError:
        return 0
    return int.from_bytes(head[16:20], "big") * int.from_bytes(head[20:24], "big")
