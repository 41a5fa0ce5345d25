"""Creates a lab: a lesson and an exercise that build and prove, and an entry in the manifest."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from autograder.authoring.course_folder import read_course
from autograder.base.errors import GradlabError

FILES = {"lab.py": "lab.py.txt", "exercises/sum_of_squares.py": "sum_of_squares.py.txt"}


def create_lab(course: Path, name: str) -> Path:
    """Write the lab's files and append it to labs/course.toml. Returns its folder."""
    if not re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", name):
        raise GradlabError(
            f"{name!r} can't be a lab's name", fix="use lower-case letters, digits and _, as in 13_sparse"
        )
    labs = read_course(course).labs
    folder = course / "labs" / name
    if folder.exists() or any(entry.name == name for entry in labs):
        raise GradlabError(f"lab {name!r} already exists", fix="choose another name")
    title = re.sub(r"^\d+[a-z]?_", "", name).replace("_", " ").capitalize()
    (folder / "exercises").mkdir(parents=True)
    template = files("autograder.authoring") / "template"
    for path, file in FILES.items():
        text = (template / file).read_text(encoding="utf-8")
        (folder / path).write_text(text.replace("TITLE", title), encoding="utf-8")
    with (course / "labs" / "course.toml").open("a", encoding="utf-8") as manifest:
        manifest.write(f'\n[[labs]]\nname = "{name}"\ntitle = "{title}"\nminutes = 60\n')
    return folder
