"""Courses in temporary folders, with the light lab and the project's labs, and classes made of the labs' answers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from autograder.authoring.course_folder import build_course, read_course, read_labs
from autograder.demo.students import collect_reference, fill_notebook
from autograder.gradebook.nbgrader_course import open_course
from autograder.model.course import Lab

ROOT = Path(__file__).parent.parent
LIGHT_LAB = "light_lab"


def create_course(folder: Path, names: Sequence[str] = ()) -> list[Lab]:
    """Create this folder with a course, and return the labs that are built: the light lab, then the project's.

    Args:
        names: The names of the labs to build; if empty, all of them.
    """
    shutil.copytree(ROOT / "labs", folder / "labs", ignore=shutil.ignore_patterns("__pycache__"))
    add_light_lab(folder)
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    course = read_course(folder)
    build_course(course, tuple(names))
    labs = list(read_labs(course, tuple(names)))
    with open_course(folder).api.gradebook:
        pass  # creates the gradebook, so nbgrader's commands need no other program on the PATH to create it
    for lab in labs:
        command = [sys.executable, "-m", "nbgrader", "generate_assignment", lab.name]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return labs


def add_light_lab(course: Path) -> None:
    """Add the source of the light lab to a course, as its first lab."""
    shutil.copytree(ROOT / "benchmarks" / LIGHT_LAB, course / "labs" / LIGHT_LAB)
    manifest = course / "labs" / "course.toml"
    head, mark, rest = manifest.read_text().partition("[[labs]]")
    entry = f'[[labs]]\nname = "{LIGHT_LAB}"\ntitle = "A light lab"\nminutes = 20\n\n'
    manifest.write_text(f"{head}{entry}{mark}{rest}")


def copy_course(course: Path, lab: str, folder: Path) -> Path:
    """Copy what grading this lab needs to another folder, without submissions, and return that folder."""
    shutil.copytree(course / "source" / lab, folder / "source" / lab)
    shutil.copytree(course / "labs", folder / "labs")
    for name in ("nbgrader_config.py", "gradebook.db"):
        shutil.copy(course / name, folder)
    return folder


def iter_submissions(lab: Lab, count: int, distinct: int = 0) -> Iterator[tuple[str, bytes]]:
    """Yield (student, notebook): the worked solution, the blank one, then right and wrong answers in turn.

    Args:
        count: The number of submissions.
        distinct: After this many, the notebooks repeat from the first one; 0 means never.
    """
    right = collect_reference(lab)
    sources = {
        e.name: [right[e.name], *(answer.source for answer in e.answers if not answer.liar)] for e in lab.exercises
    }
    for member in range(count):
        number = member % (distinct or count)
        turn = number - 1
        solutions = {name: each[turn % len(each)] for name, each in sources.items()}
        solutions = (right, {}, solutions)[min(number, 2)]
        yield f"student_{member:04}", json.dumps(fill_notebook(lab, solutions), indent=1).encode()


def submit_class(course: Path, lab: Lab, count: int, distinct: int = 0) -> None:
    """Write a class's submissions to the course's folder; see iter_submissions."""
    for student, notebook in iter_submissions(lab, count, distinct):
        folder = course / "submitted" / student / lab.name
        folder.mkdir(parents=True)
        (folder / f"{lab.name}.ipynb").write_bytes(notebook)
