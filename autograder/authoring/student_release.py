"""Writes what students get, as a folder and as a zip: the released labs, labkit and the course's extension.

There's no solution or hidden check, and nothing of the grader. Each lab begins with a cell that finds labkit if it
isn't installed: in Colab, VS Code with another interpreter, or Notebook 7 of another environment.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.authoring import glossary
from autograder.authoring.course_folder import read_labs
from autograder.authoring.notebooks import FOLD_METADATA, to_text
from autograder.authoring.publication import Publication
from autograder.authoring.start_page import START_PAGE_NAME, build_start_page
from autograder.authoring.student_wheel import build_student_wheel, copy_student_packages
from autograder.base.errors import GradlabError
from autograder.model.course import Course, LabEntry

EARLIEST = (1980, 1, 1, 0, 0, 0)  # the date of every file in the zip, so the same course gives the same bytes
UNPUBLISHED = Publication()


def write_student_release(
    course: Course, folder: Path, labs: tuple[str, ...] = (), publication: Publication = UNPUBLISHED
) -> Path:
    """Write the folder, and FOLDER.zip next to it. Returns the zip's path.

    Args:
        labs: The names of labs to include; empty for all.

    Raises:
        GradlabError: If the folder isn't empty, or a lab has not been built.
    """
    if folder.exists() and any(folder.iterdir()):
        raise GradlabError(f"{folder} isn't empty", fix="choose a new folder")
    entries = [entry for entry in course.labs if not labs or entry.name in labs]
    folder.mkdir(parents=True, exist_ok=True)
    wheel = build_student_wheel(folder).name
    first_cell = _render_first_cell(f"{folder.name}.zip", wheel, publication)
    for page, text in _render_pages(course, labs, entries, publication).items():
        notebook = nbformat.reads(text, as_version=4)
        _insert_labkit_cell(notebook, first_cell)
        _write(folder / "labs" / page, to_text(notebook))
    copy_student_packages(folder)
    for entry in entries:
        name = f"{entry.name}/{entry.name}.ipynb"
        notebook = nbformat.reads(_read_released(course, name), as_version=4)
        _insert_labkit_cell(notebook, first_cell)
        if address := publication.get_colab_address(entry.name):
            _insert_colab_link(notebook, address)
        _write(folder / "labs" / name, to_text(notebook))
    _write(folder / "README.md", _render_readme(course, wheel, entries, publication))
    return _zip_folder(folder)


def _render_pages(
    course: Course, labs: tuple[str, ...], entries: Sequence[LabEntry], publication: Publication
) -> dict[str, str]:
    """Render the start page and the glossary with links to these labs only."""
    terms = to_text(glossary.build_glossary(read_labs(course, labs))) if labs else _read_released(course, glossary.NAME)
    part = course.model_copy(update={"labs": tuple(entries)})
    addresses = {entry.name: publication.get_colab_address(entry.name) for entry in entries}
    return {START_PAGE_NAME: to_text(build_start_page(part, addresses)), glossary.NAME: terms}


def _read_released(course: Course, name: str) -> str:
    path = course.root / "release" / name
    if not path.exists():
        raise GradlabError(f"{path} is missing", fix="run gradlab build")
    return path.read_text(encoding="utf-8")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _read_template(name: str) -> str:
    return (files("autograder.authoring") / "student" / name).read_text(encoding="utf-8")


def _render_first_cell(archive: str, wheel: str, publication: Publication) -> str:
    """Render the cell that finds labkit, or installs it in Colab if the folder has an address."""
    install = _read_template("colab_install.py.txt").replace("WHEEL", f"{publication.address}/{wheel}")
    cell = _read_template("first_cell.py.txt").replace("ARCHIVE", archive).strip()
    return cell.replace("INSTALL\n", install if publication.address else "")


def _insert_labkit_cell(notebook: NotebookNode, source: str) -> None:
    """Insert the cell that finds labkit before the first code cell, if there is one."""
    cell = nbformat.v4.new_code_cell(source, id="find-labkit", metadata=dict(FOLD_METADATA))
    for index, other in enumerate(notebook.cells):
        if other.cell_type == "code":
            notebook.cells.insert(index, cell)
            return


def _insert_colab_link(notebook: NotebookNode, address: str) -> None:
    """Insert a link below the lab's title. Its image would have to come from the network, so it has none."""
    cell = next(cell for cell in notebook.cells if cell.cell_type == "markdown")
    title, _, rest = cell.source.partition("\n")
    cell.source = f"{title}\n\n[Open in Colab]({address})\n{rest}".rstrip("\n")


def _render_readme(course: Course, wheel: str, entries: Sequence[LabEntry], publication: Publication) -> str:
    """Render the README: how to install the wheel, and what the folder's address makes possible."""
    links = [f"- {entry.title}: [Open in Colab]({publication.get_colab_address(entry.name)})" for entry in entries]
    parts = [_read_template("README.md.txt")]
    parts += [_read_template("address.md.txt")] if publication.address else []
    parts += [_read_template("colab.md.txt").replace("LINKS", "\n".join(links))] if publication.repository else []
    text = "\n".join(parts).replace("TITLE", course.title).replace("ADDRESS", publication.address)
    return text.replace("WHEEL", wheel)


def _zip_folder(folder: Path) -> Path:
    path = folder.with_name(f"{folder.name}.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            info = zipfile.ZipInfo((Path(folder.name) / file.relative_to(folder)).as_posix(), EARLIEST)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, file.read_bytes())
    return path
