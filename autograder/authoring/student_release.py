"""What a student gets: the released notebooks, labkit and the course's extension, as a folder and as a zip.

It holds no solution, no hidden check, and nothing of the grader. Each lab begins with a cell that finds labkit where it
isn't installed: Colab, VS Code with another interpreter, Notebook 7 of another environment.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from importlib.metadata import requires, version
from importlib.resources import files
from pathlib import Path

import nbformat
from nbformat import NotebookNode

import labext
import labkit
from autograder.authoring import glossary
from autograder.authoring.course_folder import read_labs
from autograder.authoring.notebooks import to_text
from autograder.authoring.start_page import NAME, build_start_page
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
    """Write the folder, and FOLDER.zip beside it. Returns the zip's path.

    Args:
        labs: Only these labs; empty for all.

    Raises:
        GradlabError: If the folder isn't empty, or a lab has not been built.
    """
    if folder.exists() and any(folder.iterdir()):
        raise GradlabError(f"{folder} is not empty: name a folder that is new")
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
        here = Path(str(package.__file__)).parent
        shutil.copytree(here, folder / here.name, ignore=shutil.ignore_patterns("__pycache__"))
    template = files("autograder.authoring") / "student"
    project = (template / "pyproject.toml.txt").read_text(encoding="utf-8")
    listed = "\n".join(f'    "{line}",' for line in _list_dependencies())
    project = project.replace("VERSION", version("gradlab")).replace("DEPENDENCIES", listed)
    (folder / "pyproject.toml").write_text(project, encoding="utf-8")
    readme = (template / "README.md.txt").read_text(encoding="utf-8").replace("TITLE", course.title)
    (folder / "README.md").write_text(readme, encoding="utf-8")
    return _zip_folder(folder)


def _render_pages(course: Course, labs: tuple[str, ...]) -> dict[str, str]:
    """The start page and the glossary, which link only to these labs."""
    if not labs:
        return {name: _read_released(course, name) for name in (NAME, glossary.NAME)}
    read = list(read_labs(course, labs))
    given = course.model_copy(update={"labs": tuple(entry for entry in course.labs if entry.name in labs)})
    return {NAME: to_text(build_start_page(given)), glossary.NAME: to_text(glossary.build_glossary(read))}


def _read_released(course: Course, name: str) -> str:
    path = course.root / "release" / name
    if not path.exists():
        raise GradlabError(f"{path} is missing: run gradlab build")
    return path.read_text(encoding="utf-8")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _insert_labkit_cell(notebook: NotebookNode, archive: str) -> None:
    """Put the cell that finds labkit before the first one that is run."""
    text = (files("autograder.authoring") / "student" / "first_cell.py.txt").read_text(encoding="utf-8")
    cell = nbformat.v4.new_code_cell(text.strip().replace("ARCHIVE", archive), id="find-labkit")
    cell.metadata["jupyter"] = {"source_hidden": True}
    place = next(i for i, other in enumerate(notebook.cells) if other.cell_type == "code")
    notebook.cells.insert(place, cell)


def _list_dependencies() -> list[str]:
    """The project's requirements that labs and labkit import, with their bounds."""
    listed = [line for line in requires("gradlab") or [] if "extra ==" not in line]
    return sorted(line.replace('"', "'") for line in listed if _parse_package_name(line) in NEEDED)


def _parse_package_name(requirement: str) -> str:
    return next((requirement[:i] for i, c in enumerate(requirement) if c in "<>=;[ "), requirement)


def _zip_folder(folder: Path) -> Path:
    path = folder.with_name(f"{folder.name}.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in _iter_files(folder):
            about = zipfile.ZipInfo((Path(folder.name) / file.relative_to(folder)).as_posix(), EARLIEST)
            about.compress_type = zipfile.ZIP_DEFLATED
            about.external_attr = 0o644 << 16
            archive.writestr(about, file.read_bytes())
    return path


def _iter_files(folder: Path) -> Iterator[Path]:
    yield from sorted(path for path in folder.rglob("*") if path.is_file())
