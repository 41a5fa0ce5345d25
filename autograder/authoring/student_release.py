"""Writes what students get, as a folder and as a zip: the released labs, labkit and the course's extension.

There's no solution or hidden check, and nothing of the grader. Each lab begins with a cell that finds labkit if it
isn't installed: in Colab, VS Code with another interpreter, or Notebook 7 of another environment.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.authoring import glossary
from autograder.authoring.course_folder import read_labs
from autograder.authoring.notebooks import FOLD_METADATA, to_text
from autograder.authoring.publication import INDEX, Publication
from autograder.authoring.publication_page import render_publication_page
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
    for entry, following in zip(entries, [*entries[1:], None], strict=True):
        name = f"{entry.name}/{entry.name}.ipynb"
        notebook = nbformat.reads(_read_released(course, name), as_version=4)
        _insert_labkit_cell(notebook, first_cell)
        _insert_links(notebook, entry, following, publication)
        _write(folder / "labs" / name, to_text(notebook))
    _write(folder / "README.md", _render_readme(course, wheel, entries, publication))
    if publication.address:
        _write(folder / INDEX, render_publication_page(course, wheel, entries, publication))
    return _zip_folder(folder)


def _render_pages(
    course: Course, labs: tuple[str, ...], entries: Sequence[LabEntry], publication: Publication
) -> dict[str, str]:
    """Render the start page and the glossary with links to these labs only."""
    terms = to_text(glossary.build_glossary(read_labs(course, labs))) if labs else _read_released(course, glossary.NAME)
    part = course.model_copy(update={"labs": tuple(entries)})
    links = {entry.name: link for entry in entries if (link := publication.make_link(entry.name))}
    return {START_PAGE_NAME: to_text(build_start_page(part, links)), glossary.NAME: terms}


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
    install = _read_template("colab_install.py.txt") if publication.address else ""
    cell = _read_template("first_cell.py.txt").replace("INSTALL\n", install).strip()
    fix = _explain_installation(archive, wheel, publication.address)
    return cell.replace("FIX", json.dumps(fix)).replace("WHEEL", f"{publication.address}/{wheel}")


def _explain_installation(archive: str, wheel: str, address: str) -> str:
    """Say what to do if labkit wasn't found. A student who followed a link never had the zip."""
    if not address:
        place = (
            "next to this notebook, and run this cell again. In Colab: the folder at the left edge, then the arrow up"
        )
        return f"labkit wasn't found. Put {archive}, the zip that these labs came in, {place}."
    colab = f"In Colab, it's installed from {address}: run this cell again, and if it still fails, ask your instructor."
    return f"labkit wasn't found. {colab} Elsewhere, run: python -m pip install {address}/{wheel}"


def _insert_labkit_cell(notebook: NotebookNode, source: str) -> None:
    """Insert the cell that finds labkit before the first code cell, if there is one."""
    cell = nbformat.v4.new_code_cell(source, id="find-labkit", metadata=dict(FOLD_METADATA))
    for index, other in enumerate(notebook.cells):
        if other.cell_type == "code":
            notebook.cells.insert(index, cell)
            return


def _insert_links(
    notebook: NotebookNode, entry: LabEntry, following: LabEntry | None, publication: Publication
) -> None:
    """Insert links below the lab's title, if the folder is published: in Colab, relative ones lead nowhere."""
    link = publication.make_link(entry.name)
    if link is None:
        return
    links = [f"[{link.words}]({link.address})"] if publication.repository else []
    links.append(f"[All labs]({publication.get_overview_address(START_PAGE_NAME)})")
    if following and (target := publication.make_link(following.name)):
        links.append(f"[Next lab: {following.title}]({target.address})")
    cell = next(cell for cell in notebook.cells if cell.cell_type == "markdown")
    title, _, rest = cell.source.partition("\n")
    cell.source = f"{title}\n\n{' · '.join(links)}\n{rest}".rstrip("\n")


def _render_readme(course: Course, wheel: str, entries: Sequence[LabEntry], publication: Publication) -> str:
    """Render the README: how to install the wheel, and what the folder's address makes possible."""
    pairs = [(entry.title, link) for entry in entries if (link := publication.make_link(entry.name))]
    links = "\n".join(f"- {title}: [{link.words}]({link.address})" for title, link in pairs)
    parts = [_read_template("README.md.txt")]
    parts += [_read_template("colab.md.txt").replace("LINKS", links)] if publication.repository else []
    parts += [_read_template("address.md.txt")] if publication.address else []
    parts += [links] if publication.address and not publication.repository else []
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
