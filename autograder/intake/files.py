"""The folder of a submission: which file in it is the notebook, and what in it is no file to be copied."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

from autograder.base.digest import digest
from autograder.base.text import make_readable, truncate_name
from autograder.base.timestamps import TIMESTAMP, parse_time, read_small_text
from autograder.intake.safe_names import CHECKPOINTS, NOT_RUN, make_safe_name

NOT_FOLLOWED = ".not-followed"  # the ending of an empty file that replaces a link or a pipe
NOT_A_FOLDER = ".not-a-folder"
UNREADABLE = ".unreadable"
LEFT_OUT = ".left-out"
MAX_NAMES = 10  # that a note tells
MAX_FOLDER = 700  # bytes of a folder's path in a submission: with a file's name, under 1,000 wherever it is copied
SUFFIX = 20  # characters of the longest one that is kept when a name is cut


def normalize_folder(folder: Path, lab: str, notebooks: Sequence[str] = ()) -> None:
    """Make the folder one that nbgrader can copy: LAB.ipynb is there, and links and pipes, which it follows, are not.

    The only other notebook takes the place of a missing one, or else an empty file, which the intake refuses.
    notebooks: the names of those that are asked for, where that is not LAB; of several, none takes another's place.
    """
    every = [folder / f"{name}.ipynb" for name in notebooks or [lab]]
    wanted = every[0]
    if folder.is_symlink():
        target = os.readlink(folder)
        folder.unlink()
        folder.mkdir()
        wanted.symlink_to(target)  # still a link, and refused as one
    elif not folder.is_dir():
        content = folder.with_name(f"{lab}{NOT_A_FOLDER}")
        os.replace(folder, content)
        folder.mkdir()
        os.replace(content, wanted)
    for place, folders, _ in os.walk(folder, topdown=False):
        for name in folders:
            if name == CHECKPOINTS:  # JupyterLab writes into it as the notebook beside it is opened, through links too
                _remove(Path(place, name))
                continue
            if name != make_safe_name(name) and not os.path.islink(os.path.join(place, name)):
                os.replace(os.path.join(place, name), find_free_path(Path(place, make_safe_name(name)), name))
    _shorten_paths(folder)
    found = _list_files(folder)
    starts = {folder, *(path.parent for path in found if path.suffix == ".ipynb")}  # where a kernel may be started
    for path in found:
        kept = make_safe_name(
            path.name, path.parent.name if path.parent.parent in starts else "", path.parent in starts
        )
        if path not in every and not _is_plain(path):
            path.unlink()
            write_placeholder(path, NOT_FOLLOWED)
        elif path.name != kept:
            os.replace(path, find_free_path(path.with_name(kept), path.name))
    _rename_bad_timestamp(folder / TIMESTAMP)
    if len(every) == 1 and not os.path.lexists(wanted):
        others = _select_notebooks(_list_files(folder))
        wanted.write_bytes(others[0].read_bytes() if len(others) == 1 else b"")


def _remove(path: Path) -> None:
    """Remove a folder with everything in it, or the link that stands for it."""
    if path.is_symlink():
        path.unlink()
    else:
        shutil.rmtree(path)


def rename_student_folders(submitted: Path) -> None:
    """Give each student's folder whose name no database takes one that it does: a submission must have its score."""
    for folder in submitted.iterdir() if submitted.is_dir() else ():
        if folder.name != make_readable(folder.name):
            os.replace(folder, find_free_path(folder.with_name(make_readable(folder.name)), folder.name))


def collect_folder_notes(path: Path, content: bytes, asked: Sequence[Path] = ()) -> list[str]:
    """What a student should know of the files beside this notebook, whose bytes are `content`.

    asked: the other notebooks that are graded.
    """
    found = _list_files(path.parent)
    others = [p for p in _select_notebooks(found) if p != path and p not in asked]
    same = [p for p in others if content and p.stat().st_size == len(content) and p.read_bytes() == content]
    rest = [p for p in others if p not in same]
    aside = [p.with_suffix("") for p in found if p.suffix == NOT_FOLLOWED]
    out = [p.with_suffix("") for p in found if p.suffix in (LEFT_OUT, UNREADABLE)]
    settings = [p.with_suffix("") for p in found if p.suffix == NOT_RUN]
    out = [p for p in out if p != path.with_name(TIMESTAMP)]
    notes = []
    if same:
        notes.append(f"Your notebook was found as {_format_names(same, path)}, and graded as {path.name}.")
    if rest:
        notes.append(f"Other notebooks in your folder were not graded: {_format_names(rest, path)}.")
    if aside:
        notes.append(f"Links and pipes in your folder were taken out: {_format_names(aside, path)}.")
    if settings:
        names = _format_names(settings, path)
        notes.append(f"Files that a tool could run have other names on your instructor's computer: {names}.")
    if out:
        notes.append(f"Files that are too many, too large or cannot be read were left out: {_format_names(out, path)}.")
    if path.with_name(f"{TIMESTAMP}{UNREADABLE}").exists():
        notes.append("The time of your submission cannot be read, so nothing was taken off for lateness.")
    return notes


def _format_names(paths: list[Path], notebook: Path) -> str:
    names = [make_readable(str(p.relative_to(notebook.parent)))[:100] for p in paths[:MAX_NAMES]]
    return ", ".join(names) + (" and more" if len(paths) > MAX_NAMES else "")


def _list_files(folder: Path) -> list[Path]:
    """All that is in the folder and below, but for folders; links are not followed."""
    found = []
    for place, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        found += [Path(place, name) for name in sorted([*files, *links])]
        folders[:] = sorted(name for name in folders if name != CHECKPOINTS and name not in links)
    return found


def _select_notebooks(found: Sequence[Path]) -> list[Path]:
    return [p for p in found if p.suffix == ".ipynb" and _is_plain(p) and p.stat().st_size]


def _is_plain(path: Path) -> bool:
    return stat.S_ISREG(path.lstat().st_mode)


def find_free_path(path: Path, was: str) -> Path:
    """This path, or one like it that nothing has yet. was: the name that gets this one."""
    kept, seed = path, was
    while os.path.lexists(kept):  # digests: thousands of names that become the same one are not counted through
        ending = path.suffix if len(path.suffix) <= SUFFIX else ""
        before = "" if kept is path else seed[:SUFFIX]
        kept = path.with_name(truncate_name(f"{before}_{path.name.removesuffix(ending)}", ending))
        seed = digest(os.fsencode(seed))
    return kept


def is_too_long(path: Path, folder: Path) -> bool:
    """Whether this folder in a submission has a path with which files in it could not be copied everywhere."""
    return len(os.fsencode(path.relative_to(folder))) > MAX_FOLDER


def _shorten_paths(folder: Path) -> None:
    """Move folders whose paths are too long up into the submission's own, with a note where they were."""
    moved = True
    while moved:  # what was moved can have long paths in it again
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
    """Write an empty file instead of what is left out, with an ending that says why."""
    aside = path.with_name(truncate_name(make_readable(path.name), ending))
    if aside.is_symlink():
        aside.unlink()  # else what it points to would be made
    aside.touch()


def _rename_bad_timestamp(path: Path) -> None:
    """nbgrader stops at a time that it cannot read."""
    if not path.exists():
        return
    text = read_small_text(path)
    if text is None or (text.strip() and parse_time(text) is None):
        os.replace(path, path.with_name(path.name + UNREADABLE))
