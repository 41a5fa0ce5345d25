"""The folder autograded/STUDENT/LAB as nbgrader makes it: the graded notebook, and the files that came with it."""

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
    """notebook: its name, where it is not the lab's."""
    return course / "autograded" / student / lab / f"{notebook or lab}.ipynb"


def list_files(folder: Path, ignore: Sequence[str]) -> list[Path]:
    """What nbgrader's find_all_files finds, sorted and relative to the folder.

    That lists a folder again for each of its files and patterns: with thousands of files it takes minutes.
    """
    patterns = [(pattern.startswith("."), re.compile(translate(pattern))) for pattern in ignore]

    def is_ignored(name: str) -> bool:
        """As glob has it: what begins with a dot is matched only by a pattern that does, too."""
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
    """What lies beside the notebook: the submission's files, and then the course's, which replace them.

    own: files that students write, of which the course's are left out.
    A file of the submission's where the course has a folder is left out, and so is a folder where it has a file.
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
    """Make the folder anew, and tell of files that could not be copied. It is there as a whole, or not at all.

    notebooks: their texts, by name. ignore: patterns of files that are not copied. permissions: of the files. by: who
    handed it in, where a team did. own: files that students write. before: called when all is written, and before it
    takes the place of an older folder.
    """
    with replace_folder(get_autograded_path(course, lab, student).parent) as new:
        new.mkdir(parents=True)
        left_out = _copy_companion_files(new, course, lab, by or student, ignore, own)
        if by not in ("", student):  # by its secret a page is fetched: each of a team has an own one, or none
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
    """Copy what lies beside the notebook. One file that cannot be copied costs the others nothing: it is told."""
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
