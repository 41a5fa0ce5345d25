"""The folder that JupyterLab serves, and the course whose grader may mark what is in it.

Both are determined once, when the server starts, from its folder, and never by a notebook: a submission that an
instructor opens can bring its own `source/` and `nbgrader_config.py`, and a grader started on those would run them as
the instructor.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jupyter_core.paths import jupyter_config_path
from traitlets.config import Config
from traitlets.config.loader import ConfigFileNotFound, PyFileConfigLoader

CONFIG = "nbgrader_config.py"
SUBMISSIONS = frozenset({"autograded", "downloaded", "inbound", "submitted"})  # folders that hold other people's files
COPIES = "work"  # the folder of a course where `make lab` puts the student's own copies


@dataclass(frozen=True)
class Workspace:
    """What the server knows about its folder."""

    root: Path
    """The folder that JupyterLab shows, with links resolved."""
    course: Path | None = None
    """The course whose grader marks the labs here; None if the folder doesn't belong to a course of the user."""
    extra_courses: tuple[Path, ...] = ()
    """Other courses whose configuration the formgrader may run."""

    @cached_property
    def config(self) -> Config:
        """nbgrader's configuration: the user's own files, and the served folder's if it's trusted."""
        config = Config()
        folders = [str(self.root)] if self.runs_config else []
        for folder in [*reversed(jupyter_config_path()), *folders]:
            try:
                config.merge(PyFileConfigLoader(CONFIG, path=folder).load_config())
            except ConfigFileNotFound:
                continue
        return config

    @property
    def runs_config(self) -> bool:
        """Whether the served folder's configuration, and other files that Jupyter runs there, may run."""
        return bool(self.lab_parents) and is_closed(self.root, self.root) and is_trusted(self.root / CONFIG, self.root)

    @cached_property
    def lab_parents(self) -> tuple[Path, ...]:
        """The folders that contain the student's own labs; none in a folder of submissions."""
        if SUBMISSIONS.intersection(self.root.parts):
            return ()
        return (self.root, self.course / COPIES) if self.course else (self.root,)

    @property
    def course_id(self) -> str:
        """The class's course by nbgrader's configuration; empty if it names none, as for a student of several."""
        return str(self.config.CourseDirectory.get("course_id", ""))

    @property
    def has_course_folders(self) -> bool:
        """Whether `nbgrader fetch_assignment` puts the labs of each course into a folder of its own."""
        return self.course is None and bool(self.config.Exchange.get("path_includes_course", False))

    def get_class_folder(self, course: str) -> Path:
        """Return the folder in which `nbgrader fetch_assignment` puts the labs of a class's course."""
        return self.root / course if self.has_course_folders else self.root

    def find_class_course(self, lab_folder: Path) -> str:
        """Return the course in whose class folder this lab is; empty if it isn't in one."""
        course = lab_folder.parent.name if self.has_course_folders else self.course_id
        return course if course and lab_folder.parent == self.get_class_folder(course) else ""

    def has_grader(self, lab: str) -> bool:
        """Return whether the course here can mark this lab itself."""
        return self.course is not None and (self.course / "source" / lab / f"{lab}.ipynb").is_file()

    def find_own_copy(self, path: str) -> Path | None:
        """Find the notebook at this path from the browser, if it is a student's own copy of a lab.

        Args:
            path: Relative to root, as the browser sends it.

        Returns:
            The notebook, with links resolved, if it's PARENT/LAB/LAB.ipynb with PARENT in `lab_parents` or the folder
            of a class's course, else None.
        """
        copy = self.resolve_path(path)
        if copy is None or copy.suffix != ".ipynb" or copy.parent.name != copy.stem or not self.lab_parents:
            return None
        parent = copy.parent.parent
        return copy if parent in self.lab_parents or self.find_class_course(copy.parent) else None

    def resolve_path(self, path: str) -> Path | None:
        """Resolve a path from the browser; None if it leads out of the root."""
        try:
            resolved = (self.root / path).resolve()
        except (OSError, ValueError, RuntimeError):  # a name that is too long, a NUL, a loop of links
            return None
        return resolved if resolved.is_relative_to(self.root) and resolved != self.root else None


def find_workspace(root: Path, extra_courses: Iterable[str] = ()) -> Workspace:
    """Determine which course this folder belongs to: the one course at or above it.

    A course is a folder with `source/` and `nbgrader_config.py`. Its files are run, so it counts only if the folder,
    the configuration and all of `source/` belong to this process's user, to root, or to the owner of the served folder,
    and no one else can write there. A course inside another one doesn't count: it may have been submitted.

    Args:
        root: The served folder.
        extra_courses: `c.Gradlab.courses` in the server's configuration.
    """
    root, extra = root.resolve(), tuple(Path(os.path.abspath(path)) for path in extra_courses)
    if SUBMISSIONS.intersection(root.parts):
        return Workspace(root, extra_courses=extra)
    courses = [folder for folder in (root, *root.parents) if _is_course(folder, root)]
    return Workspace(root, courses[0] if len(courses) == 1 else None, extra)


def _is_course(folder: Path, root: Path) -> bool:
    source, config = folder / "source", folder / CONFIG
    if not (source.is_dir() and config.is_file()):
        return False
    return is_closed(folder, root) and all(is_trusted(path, root) for path in (config, source, *source.rglob("*")))


def can_configure(path: str, workspace: Workspace) -> bool:
    """Return whether the formgrader may run the configuration in this folder, in the server's process.

    A folder that looks like a course may be an unpacked submission.

    Args:
        path: The folder as a URL names it. No part may be a link, so what is checked is what runs.
        workspace: Names the courses, as determined when the server started.
    """
    folder = Path(os.path.abspath(path))
    try:
        is_listed = folder in {workspace.course, *workspace.extra_courses} and folder.resolve() == folder
        return is_listed and _is_course(folder, workspace.root)
    except (OSError, ValueError, RuntimeError):
        return False


def is_closed(folder: Path, root: Path) -> bool:
    """Return whether no one else can put a file into this folder, which a program started there might run."""
    return is_trusted(folder, root) and not (hasattr(os, "getuid") and folder.stat().st_mode & stat.S_IWOTH)


def is_trusted(path: Path, root: Path) -> bool:
    """Return whether only trusted users control this path. A path that doesn't exist runs nothing, so it's trusted.

    A link belongs to its owner, wherever it leads. In a sticky folder, no one can change other users' files.
    """
    if not hasattr(os, "getuid") or not os.path.lexists(path):
        return True
    status = path.lstat()
    has_trusted_owner = status.st_uid in {os.getuid(), 0, root.stat().st_uid}
    is_world_writable = bool(status.st_mode & stat.S_IWOTH) and not (status.st_mode & stat.S_ISVTX)
    return has_trusted_owner and (stat.S_ISLNK(status.st_mode) or not is_world_writable)
