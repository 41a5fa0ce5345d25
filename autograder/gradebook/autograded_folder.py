"""The folder autograded/STUDENT/LAB as nbgrader makes it: the graded notebook, and the files next to it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path

from autograder.base.atomic_files import is_path_error, replace_folder
from autograder.base.submission_files import SECRET, read_small_text
from autograder.base.text import make_readable
from autograder.gradebook.submission_folders import get_submitted_path


@dataclass(frozen=True)
class CopyRules:
    """How files are copied to autograded/."""

    ignore: Sequence[str] = ()
    """Patterns of files that aren't copied."""
    student_files: Collection[str] = ()
    """Files that students write; the course's versions are left out."""
    permissions: int = 0o644


def get_autograded_path(course: Path, lab: str, student: str, notebook: str = "") -> Path:
    """Return the path of a graded notebook.

    Args:
        notebook: The notebook's name, if it isn't the lab's.
    """
    return course / "autograded" / student / lab / f"{notebook or lab}.ipynb"


def list_files(folder: Path, ignore: Sequence[str]) -> list[Path]:
    """List the files that nbgrader's find_all_files finds, sorted and relative to the folder.

    nbgrader lists a folder again for each of its files and patterns, which takes minutes with thousands of files.
    """
    patterns = [(pattern.startswith("."), re.compile(translate(pattern))) for pattern in ignore]

    def is_ignored(name: str) -> bool:
        """Return whether a pattern matches. As in glob, only patterns with a leading dot match names that have one."""
        hidden = name.startswith(".")
        return any((dotted or not hidden) and pattern.match(name) for dotted, pattern in patterns)

    paths: list[str] = []
    for parent, folders, files in os.walk(folder):
        if is_ignored(os.path.basename(parent)):
            folders.clear()
        else:
            paths += [os.path.join(parent, name) for name in files if not is_ignored(name)]
    return [Path(path).relative_to(folder) for path in sorted(paths)]


def list_companion_files(course: Path, lab: str, student: str, rules: CopyRules) -> list[Path]:
    """List the files next to the notebook: the submission's, and then the course's, which replace them.

    A file of the submission is left out if the course has a folder of that name, and a folder if it has a file.
    """
    submitted, source = get_submitted_path(course, lab, student), course / "source" / lab
    theirs, ours = (list_files(folder, [*rules.ignore, "*.ipynb"]) for folder in (submitted, source))
    ours = [path for path in ours if path.as_posix() not in rules.student_files]
    folders = {folder for path in ours for folder in path.parents}
    files = {Path(SECRET), *ours, *(Path(path.name) for path in source.glob("*.ipynb"))}
    theirs = [path for path in theirs if path not in folders and files.isdisjoint(path.parents)]
    return [*(submitted / path for path in theirs), *(source / path for path in ours)]


def write_autograded(
    course: Path,
    lab: str,
    student: str,
    notebooks: Mapping[str, str],
    rules: CopyRules,
    submitter: str = "",
    before_replace: Callable[[], object] = lambda: None,
) -> list[str]:
    """Write the folder from scratch, completely or not at all.

    Args:
        notebooks: The text of each notebook, by name.
        submitter: Who submitted it, if a team did.
        before_replace: Called once everything is written, before it replaces an older folder.

    Returns:
        A line for each file that couldn't be copied.
    """
    with replace_folder(get_autograded_path(course, lab, student).parent) as new:
        new.mkdir(parents=True)
        failures = _copy_companion_files(new, course, lab, submitter or student, rules)
        if submitter not in ("", student):  # pages are fetched by this secret: each team member has their own, or none
            (new / SECRET).unlink(missing_ok=True)
            if secret := read_small_text(get_submitted_path(course, lab, student) / SECRET):
                (new / SECRET).write_text(secret)
        for name, text in notebooks.items():
            (new / f"{name}.ipynb").write_text(text, encoding="utf-8")
        for parent, _, files in os.walk(new):
            for name in files:
                os.chmod(os.path.join(parent, name), rules.permissions)
        before_replace()
    return failures


def _copy_companion_files(new: Path, course: Path, lab: str, student: str, rules: CopyRules) -> list[str]:
    """Copy the files next to the notebook. Returns a line for each file that couldn't be copied."""
    failures = []
    for path in list_companion_files(course, lab, student, rules):
        source = course / ("source" if path.is_relative_to(course / "source") else f"submitted/{student}") / lab
        target = new / path.relative_to(source)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            shutil.copy(path, target)
        except OSError as error:
            if not is_path_error(error):
                raise
            name = make_readable(path.relative_to(source).as_posix())
            failures.append(f"{name[:100]} could not be copied to autograded/: {error.strerror}")
    return failures
