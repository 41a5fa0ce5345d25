"""Courses in temporary folders, with every lab of the project and the light one, and classes made of their answers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from autograder.authoring.course_folder import build_course, read_course, read_labs
from autograder.demo.students import collect_reference, fill_notebook
from autograder.gradebook.nbgrader_course import open_course
from autograder.model.course import Lab

ROOT = Path(__file__).parent.parent
LIGHT = "light_lab"


def new_course(folder: Path) -> list[Lab]:
    """A built course in this folder, which is made: the light lab, and then the project's own."""
    shutil.copytree(ROOT / "labs", folder / "labs", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "benchmarks" / LIGHT, folder / "labs" / LIGHT)
    manifest = folder / "labs" / "course.toml"
    head, rest = manifest.read_text().split("[[labs]]", 1)
    light = f'[[labs]]\nname = "{LIGHT}"\ntitle = "A light lab"\nminutes = 20\n\n'
    manifest.write_text(f"{head}{light}[[labs]]{rest}")
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    build_course(read_course(folder))
    labs = list(read_labs(read_course(folder)))
    with open_course(folder).api.gradebook:
        pass  # nbgrader's commands find a gradebook then, and need no program of its makers on the PATH
    for lab in labs:
        command = [sys.executable, "-m", "nbgrader", "generate_assignment", lab.name]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return labs


def copy_for(course: Path, lab: str, folder: Path) -> Path:
    """A course in another folder, without submissions, where this lab is to be graded."""
    shutil.copytree(course / "source" / lab, folder / "source" / lab)
    shutil.copytree(course / "labs", folder / "labs")
    for name in ("nbgrader_config.py", "gradebook.db"):
        shutil.copy(course / name, folder)
    return folder


def members(lab: Lab, count: int, different: int = 0) -> Iterator[tuple[str, bytes]]:
    """(student, notebook): the worked solution, the blank one, and then right and wrong answers in turn.

    different: after so many notebooks they come again, from the first one; 0 is never.
    """
    right = collect_reference(lab)
    sources = {
        e.name: [right[e.name], *(answer.source for answer in e.answers if not answer.liar)] for e in lab.exercises
    }
    for member in range(count):
        number = member % (different or count)
        turn = number - 1
        solutions = {name: each[turn % len(each)] for name, each in sources.items()}
        solutions = (right, {}, solutions)[min(number, 2)]
        yield f"student_{member:04}", json.dumps(fill_notebook(lab, solutions), indent=1).encode()


def hand_in(course: Path, lab: Lab, count: int, different: int = 0) -> None:
    for student, notebook in members(lab, count, different):
        folder = course / "submitted" / student / lab.name
        folder.mkdir(parents=True)
        (folder / f"{lab.name}.ipynb").write_bytes(notebook)
