"""The folder autograded/STUDENT/LAB as nbgrader makes it: the graded notebook, and the files that came with it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from fnmatch import translate
from pathlib import Path

from autograder.handed_in import SECRET, small_text


def autograded_path(course: Path, lab: str, student: str, notebook: str = "") -> Path:
    """notebook: its name, where it is not the lab's."""
    return course / "autograded" / student / lab / f"{notebook or lab}.ipynb"


def files_in(folder: Path, ignore: Sequence[str]) -> list[Path]:
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


def files_beside(course: Path, lab: str, student: str, ignore: Sequence[str], own: Collection[str] = ()) -> list[Path]:
    """What lies beside the notebook: the submission's files, and then the course's, which replace them.

    own: files that students write, of which the course's are left out.
    A file of the submission's where the course has a folder is left out, and so is a folder where it has a file.
    """
    submitted, source = course / "submitted" / student / lab, course / "source" / lab
    theirs, given = (files_in(folder, [*ignore, "*.ipynb"]) for folder in (submitted, source))
    given = [path for path in given if path.as_posix() not in own]
    folders = {folder for path in given for folder in path.parents}
    files = {*given, *(Path(path.name) for path in source.glob("*.ipynb"))}
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
) -> None:
    """Make the folder anew. It is there with all that belongs in it, or not at all.

    notebooks: their texts, by name. ignore: patterns of files that are not copied. permissions: of the files. by: who
    handed it in, where a team did. own: files that students write.
    """
    folder = autograded_path(course, lab, student).parent
    new = folder.with_name(f".{lab}.new")  # beside it: a rename works on one file system only
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    for found in files_beside(course, lab, by or student, ignore, own):
        source = course / ("source" if found.is_relative_to(course / "source") else f"submitted/{by or student}") / lab
        target = new / found.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copy(found, target)
    if by not in ("", student):  # by its secret a page is fetched: each of a team has an own one, or none
        (new / SECRET).unlink(missing_ok=True)
        if secret := small_text(course / "submitted" / student / lab / SECRET):
            (new / SECRET).write_text(secret)
    for name, text in notebooks.items():
        (new / f"{name}.ipynb").write_text(text, encoding="utf-8")
    for place, _, files in os.walk(new):
        for name in files:
            os.chmod(os.path.join(place, name), permissions)
    if folder.exists():
        shutil.rmtree(folder)
    os.replace(new, folder)
