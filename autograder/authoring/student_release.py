"""Writes what students get, as a folder and as a zip: the released notebooks, labkit and the course's extension.

There's no solution or hidden check, and nothing of the grader. Each lab begins with a cell that finds labkit if it
isn't installed: in Colab, VS Code with another interpreter, or Notebook 7 of another environment.
"""

from __future__ import annotations

import shutil
import zipfile
from importlib.metadata import requires, version
from importlib.resources import files
from pathlib import Path

import nbformat
from nbformat import NotebookNode

import labext
import labkit
from autograder.authoring import glossary
from autograder.authoring.course_folder import read_labs
from autograder.authoring.notebooks import FOLD_METADATA, to_text
from autograder.authoring.start_page import START_PAGE_NAME, build_start_page
from autograder.base.errors import GradlabError
from autograder.model.course import Course

NEEDED = (
    "torch",
    "numpy",
    "jupyterlab",
    "ipykernel",
    "ipywidgets",
    "matplotlib",
    "torchviz",
    "scikit-learn",
    "setuptools",
)
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the date of every file in the zip, so the same course gives the same bytes


def write_student_release(course: Course, folder: Path, labs: tuple[str, ...] = ()) -> Path:
    """Write the folder, and FOLDER.zip next to it. Returns the zip's path.

    Args:
        labs: The names of labs to include; empty for all.

    Raises:
        GradlabError: If the folder isn't empty, or a lab has not been built.
    """
    if folder.exists() and any(folder.iterdir()):
        raise GradlabError(f"{folder} isn't empty", fix="choose a new folder")
    for page, text in _render_pages(course, labs).items():
        _write(folder / "labs" / page, text)
    for entry in course.labs:
        if labs and entry.name not in labs:
            continue
        name = f"{entry.name}/{entry.name}.ipynb"
        notebook = nbformat.reads(_read_released(course, name), as_version=4)
        _insert_labkit_cell(notebook, f"{folder.name}.zip")
        _write(folder / "labs" / name, to_text(notebook))
    for package in (labkit, labext):
        source = Path(str(package.__file__)).parent
        shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    template = files("autograder.authoring") / "student"
    project = (template / "pyproject.toml.txt").read_text(encoding="utf-8")
    dependencies = "\n".join(f'    "{line}",' for line in _list_dependencies())
    project = project.replace("VERSION", version("gradlab")).replace("DEPENDENCIES", dependencies)
    (folder / "pyproject.toml").write_text(project, encoding="utf-8")
    readme = (template / "README.md.txt").read_text(encoding="utf-8").replace("TITLE", course.title)
    (folder / "README.md").write_text(readme, encoding="utf-8")
    return _zip_folder(folder)


def _render_pages(course: Course, labs: tuple[str, ...]) -> dict[str, str]:
    """Render the start page and the glossary with links to these labs only."""
    if not labs:
        return {name: _read_released(course, name) for name in (START_PAGE_NAME, glossary.NAME)}
    entries = glossary.build_glossary(read_labs(course, labs))
    part = course.model_copy(update={"labs": tuple(entry for entry in course.labs if entry.name in labs)})
    return {START_PAGE_NAME: to_text(build_start_page(part)), glossary.NAME: to_text(entries)}


def _read_released(course: Course, name: str) -> str:
    path = course.root / "release" / name
    if not path.exists():
        raise GradlabError(f"{path} is missing", fix="run gradlab build")
    return path.read_text(encoding="utf-8")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _insert_labkit_cell(notebook: NotebookNode, archive: str) -> None:
    """Insert the cell that finds labkit before the first code cell."""
    text = (files("autograder.authoring") / "student" / "first_cell.py.txt").read_text(encoding="utf-8")
    cell = nbformat.v4.new_code_cell(text.strip().replace("ARCHIVE", archive), id="find-labkit")
    cell.metadata |= FOLD_METADATA
    index = next(i for i, other in enumerate(notebook.cells) if other.cell_type == "code")
    notebook.cells.insert(index, cell)


def _list_dependencies() -> list[str]:
    """List the project's requirements that labs and labkit import, with their version bounds."""
    requirements = [line for line in requires("gradlab") or [] if "extra ==" not in line]
    return sorted(line.replace('"', "'") for line in requirements if _parse_package_name(line) in NEEDED)


def _parse_package_name(requirement: str) -> str:
    return next((requirement[:i] for i, c in enumerate(requirement) if c in "<>=;[ "), requirement)


def _zip_folder(folder: Path) -> Path:
    path = folder.with_name(f"{folder.name}.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            info = zipfile.ZipInfo((Path(folder.name) / file.relative_to(folder)).as_posix(), EARLIEST)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, file.read_bytes())
    return path
