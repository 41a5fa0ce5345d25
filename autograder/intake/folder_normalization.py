"""The folder of a submission: which file is the notebook, and which entries can't be copied as files."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

from autograder.base.digest import digest
from autograder.base.submission_files import TIMESTAMP, read_small_text
from autograder.base.text import join_first, make_readable, truncate_name
from autograder.base.timestamps import parse_time
from autograder.intake.safe_names import CHECKPOINTS, NOT_RUN, make_safe_name

NOT_FOLLOWED = ".not-followed"  # the ending of an empty file that replaces a link or a pipe
NOT_A_FOLDER = ".not-a-folder"
UNREADABLE = ".unreadable"
LEFT_OUT = ".left-out"
MAX_NAMES = 10  # listed in a note
MAX_FOLDER = 700  # bytes of a folder's path in a submission: with a file's name, under 1,000 wherever it's copied
MAX_SUFFIX = 20  # characters of a suffix that is kept when a name is shortened


def normalize_folder(folder: Path, assignment: str, notebooks: Sequence[str] = ()) -> None:
    """Prepare the folder for nbgrader, which copies it: it gets ASSIGNMENT.ipynb, and loses links and pipes.

    If the notebook is missing, the only other notebook replaces it, or else an empty file, which the intake refuses.

    Args:
        notebooks: The names of the expected notebooks, if not ASSIGNMENT. If there are several, none replaces another.
    """
    expected = [folder / f"{name}.ipynb" for name in notebooks or [assignment]]
    wanted = expected[0]
    _make_folder(folder, wanted)
    _rename_folders(folder)
    _shorten_paths(folder)
    _rename_files(folder, expected)
    _rename_bad_timestamp(folder / TIMESTAMP)
    if len(expected) == 1 and not os.path.lexists(wanted):
        others = _select_notebooks(_list_files(folder))
        wanted.write_bytes(others[0].read_bytes() if len(others) == 1 else b"")


def _make_folder(folder: Path, notebook: Path) -> None:
    """Replace a link or a file with a folder that contains it as the notebook."""
    if folder.is_symlink():
        target = os.readlink(folder)
        folder.unlink()
        folder.mkdir()
        notebook.symlink_to(target)  # still a link, and refused as one
    elif not folder.is_dir():
        content = folder.with_name(f"{notebook.stem}{NOT_A_FOLDER}")
        os.replace(folder, content)
        folder.mkdir()
        os.replace(content, notebook)


def _rename_folders(folder: Path) -> None:
    """Give folders names that no tool reads as its configuration, and remove JupyterLab's checkpoints."""
    for place, folders, _ in os.walk(folder, topdown=False):
        for name in folders:
            path, safe_name = Path(place, name), make_safe_name(name)
            if name == CHECKPOINTS:  # JupyterLab writes into it when it opens the notebook, even through links
                _remove(path)
            elif name != safe_name and not os.path.islink(path):
                os.replace(path, find_free_path(Path(place, safe_name), name))


def _rename_files(folder: Path, expected: Sequence[Path]) -> None:
    """Give files names that no tool runs or reads as its configuration, and replace links and pipes."""
    files = _list_files(folder)
    notebook_folders = {
        folder,
        *(path.parent for path in files if path.suffix == ".ipynb"),
    }  # folders where a kernel may start
    for path in files:
        parent_name = path.parent.name if path.parent.parent in notebook_folders else ""
        safe_name = make_safe_name(path.name, parent_name, path.parent in notebook_folders)
        if path not in expected and not _is_regular_file(path):
            path.unlink()
            write_placeholder(path, NOT_FOLLOWED)
        elif path.name != safe_name:
            os.replace(path, find_free_path(path.with_name(safe_name), path.name))


def _remove(path: Path) -> None:
    """Remove a folder with its content, or a link to a folder."""
    if path.is_symlink():
        path.unlink()
    else:
        shutil.rmtree(path)


def rename_student_folders(submitted: Path) -> None:
    """Rename student folders whose names a database can't store, so each submission can have a score."""
    for folder in submitted.iterdir() if submitted.is_dir() else ():
        if folder.name != make_readable(folder.name):
            os.replace(folder, find_free_path(folder.with_name(make_readable(folder.name)), folder.name))


def collect_folder_notes(path: Path, content: bytes, graded: Sequence[Path] = ()) -> list[str]:
    """Collect what the student should know about the files next to this notebook.

    Args:
        content: The notebook's bytes.
        graded: The other notebooks that are graded.
    """
    files = _list_files(path.parent)
    others = [p for p in _select_notebooks(files) if p != path and p not in graded]
    duplicates = [p for p in others if content and p.stat().st_size == len(content) and p.read_bytes() == content]
    different = [p for p in others if p not in duplicates]
    links = [p.with_suffix("") for p in files if p.suffix == NOT_FOLLOWED]
    left_out = [p.with_suffix("") for p in files if p.suffix in (LEFT_OUT, UNREADABLE)]
    renamed = [p.with_suffix("") for p in files if p.suffix == NOT_RUN]
    left_out = [p for p in left_out if p != path.with_name(TIMESTAMP)]
    notes = []
    if duplicates:
        notes.append(f"Your notebook was found as {_format_names(duplicates, path)}, and graded as {path.name}.")
    if different:
        notes.append(f"Other notebooks in your folder were not graded: {_format_names(different, path)}.")
    if links:
        notes.append(f"Links and pipes in your folder were removed: {_format_names(links, path)}.")
    if renamed:
        names = _format_names(renamed, path)
        notes.append(f"Files that a tool could run were renamed on your instructor's computer: {names}.")
    if left_out:
        names = _format_names(left_out, path)
        notes.append(f"Files that are too many, too large or unreadable were left out: {names}.")
    if path.with_name(f"{TIMESTAMP}{UNREADABLE}").exists():
        notes.append("The time of your submission can't be read, so no points were taken off for lateness.")
    return notes


def _format_names(paths: list[Path], notebook: Path) -> str:
    return join_first([make_readable(str(p.relative_to(notebook.parent)))[:100] for p in paths], MAX_NAMES)


def _list_files(folder: Path) -> list[Path]:
    """List everything in the folder and below, except folders. Links aren't followed."""
    files_found: list[Path] = []
    for place, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        files_found += [Path(place, name) for name in sorted([*files, *links])]
        folders[:] = sorted(name for name in folders if name != CHECKPOINTS and name not in links)
    return files_found


def _select_notebooks(files: Sequence[Path]) -> list[Path]:
    return [p for p in files if p.suffix == ".ipynb" and _is_regular_file(p) and p.stat().st_size]


def _is_regular_file(path: Path) -> bool:
    return stat.S_ISREG(path.lstat().st_mode)


def find_free_path(path: Path, original: str) -> Path:
    """Return this path, or a similar one that's free.

    Args:
        original: The name that is replaced.
    """
    free, seed = path, original
    while os.path.lexists(free):  # digests, since counting would be slow if thousands of names collide
        ending = path.suffix if len(path.suffix) <= MAX_SUFFIX else ""
        prefix = "" if free is path else seed[:MAX_SUFFIX]
        free = path.with_name(truncate_name(f"{prefix}_{path.name.removesuffix(ending)}", ending))
        seed = digest(os.fsencode(seed))
    return free


def is_too_long(path: Path, folder: Path) -> bool:
    """Return whether this folder's path in a submission is too long for its files to be copied everywhere."""
    return len(os.fsencode(path.relative_to(folder))) > MAX_FOLDER


def _shorten_paths(folder: Path) -> None:
    """Move folders with overlong paths up into the submission's own folder, and leave a placeholder there."""
    moved = True
    while moved:  # a moved folder may again contain long paths
        moved = False
        for place, folders, _ in os.walk(folder):
            for name in folders[:]:
                path = Path(place, name)
                if not path.is_symlink() and is_too_long(path, folder):
                    folders.remove(name)
                    os.replace(path, find_free_path(folder / name, os.fspath(path)))
                    write_placeholder(path, LEFT_OUT)
                    moved = True


def write_placeholder(path: Path, ending: str) -> None:
    """Write an empty file for what is left out, with an ending that says why."""
    placeholder = path.with_name(truncate_name(make_readable(path.name), ending))
    if placeholder.is_symlink():
        placeholder.unlink()  # otherwise touch() would create its target
    placeholder.touch()


def _rename_bad_timestamp(path: Path) -> None:
    """Rename a timestamp file that nbgrader can't read, since it would stop there."""
    if not path.exists():
        return
    text = read_small_text(path)
    if text is None or (text.strip() and parse_time(text) is None):
        os.replace(path, path.with_name(path.name + UNREADABLE))
