"""The folder autograded/STUDENT/LAB as nbgrader makes it: the graded notebook, and the files beside it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import translate
from pathlib import Path

from autograder.base.atomic_files import is_of_one_name, replace_folder
from autograder.base.text import make_readable
from autograder.base.timestamps import SECRET, read_small_text


def get_autograded_path(course: Path, lab: str, student: str, notebook: str = "") -> Path:
    """The path of a graded notebook.

    Args:
        notebook: The notebook's name, if it isn't the lab's.
    """
    return course / "autograded" / student / lab / f"{notebook or lab}.ipynb"


def list_files(folder: Path, ignore: Sequence[str]) -> list[Path]:
    """The files that nbgrader's find_all_files finds, sorted and relative to the folder.

    nbgrader lists a folder again for each of its files and patterns, which takes minutes with thousands of files.
    """
    patterns = [(pattern.startswith("."), re.compile(translate(pattern))) for pattern in ignore]

    def is_ignored(name: str) -> bool:
        """Whether a pattern matches, by glob's rule: only patterns with a leading dot match names that have one."""
        hidden = name.startswith(".")
        return any((dotted or not hidden) and pattern.match(name) for dotted, pattern in patterns)

    found: list[str] = []
    for place, folders, files in os.walk(folder):
        if is_ignored(os.path.basename(place)):
            folders.clear()
        else:
            found += [os.path.join(place, name) for name in files if not is_ignored(name)]
    return [Path(path).relative_to(folder) for path in sorted(found)]


def list_companion_files(
    course: Path, lab: str, student: str, ignore: Sequence[str], own: Collection[str] = ()
) -> list[Path]:
    """The files beside the notebook: the submission's, and then the course's, which replace them.

    A file of the submission is left out if the course has a folder of that name, and a folder if it has a file.

    Args:
        ignore: Patterns of files to leave out.
        own: Files that students write; the course's versions are left out.
    """
    submitted, source = course / "submitted" / student / lab, course / "source" / lab
    theirs, given = (list_files(folder, [*ignore, "*.ipynb"]) for folder in (submitted, source))
    given = [path for path in given if path.as_posix() not in own]
    folders = {folder for path in given for folder in path.parents}
    files = {Path(SECRET), *given, *(Path(path.name) for path in source.glob("*.ipynb"))}
    kept = [path for path in theirs if path not in folders and files.isdisjoint(path.parents)]
    return [*(submitted / path for path in kept), *(source / path for path in given)]


def write_autograded(
    course: Path,
    lab: str,
    student: str,
    notebooks: Mapping[str, str],
    ignore: Sequence[str],
    permissions: int,
    by: str = "",
    own: Collection[str] = (),
    before: Callable[[], object] = lambda: None,
) -> list[str]:
    """Make the folder anew, as a whole or not at all.

    Args:
        notebooks: The text of each notebook, by name.
        ignore: Patterns of files that aren't copied.
        permissions: The files' permissions.
        by: Who handed it in, if a team did.
        own: Files that students write.
        before: Called when everything is written, before it replaces an older folder.

    Returns:
        A line for each file that could not be copied.
    """
    with replace_folder(get_autograded_path(course, lab, student).parent) as new:
        new.mkdir(parents=True)
        left_out = _copy_companion_files(new, course, lab, by or student, ignore, own)
        if by not in ("", student):  # a page is fetched by this secret: each team member has their own, or none
            (new / SECRET).unlink(missing_ok=True)
            if secret := read_small_text(course / "submitted" / student / lab / SECRET):
                (new / SECRET).write_text(secret)
        for name, text in notebooks.items():
            (new / f"{name}.ipynb").write_text(text, encoding="utf-8")
        for place, _, files in os.walk(new):
            for name in files:
                os.chmod(os.path.join(place, name), permissions)
        before()
    return left_out


def _copy_companion_files(
    new: Path, course: Path, lab: str, student: str, ignore: Sequence[str], own: Collection[str]
) -> list[str]:
    """Copy the files beside the notebook. Returns a line for each file that could not be copied."""
    left_out = []
    for found in list_companion_files(course, lab, student, ignore, own):
        source = course / ("source" if found.is_relative_to(course / "source") else f"submitted/{student}") / lab
        target = new / found.relative_to(source)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            shutil.copy(found, target)
        except OSError as error:
            if not is_of_one_name(error):
                raise
            name = make_readable(found.relative_to(source).as_posix())
            left_out.append(f"{name[:100]} could not be copied to autograded/: {error.strerror}")
    return left_out
