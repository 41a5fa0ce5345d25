"""The folder that JupyterLab serves, and the course whose grader may mark what is in it.

Both are decided once, when the server starts, from the folder it was started on. A notebook never decides: a submission
that an instructor opens can bring its own `source/` and `nbgrader_config.py`, and a grader started on those would run
them as the instructor.
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
COPIES = "work"  # the folder of a course in which `make lab` puts the student's own copies


@dataclass(frozen=True)
class Workspace:
    """What the server knows about its folder."""

    root: Path
    """The folder that JupyterLab shows, without links."""
    course: Path | None = None
    """The course whose grader marks what is here; None if the folder doesn't belong to a course of the user's own."""
    listed: tuple[Path, ...] = ()
    """Further courses whose configuration the formgrader may run."""

    @cached_property
    def config(self) -> Config:
        """What nbgrader's configuration says here: the user's own files, and the served folder's if it is trusted."""
        config = Config()
        own = [str(self.root)] if self.runs_config else []
        for folder in [*reversed(jupyter_config_path()), *own]:
            try:
                config.merge(PyFileConfigLoader(CONFIG, path=folder).load_config())
            except ConfigFileNotFound:
                continue
        return config

    @property
    def runs_config(self) -> bool:
        """Whether the served folder's configuration may run, and whatever else Jupyter looks for there."""
        return bool(self.places) and is_closed(self.root, self.root) and is_trusted(self.root / CONFIG, self.root)

    @cached_property
    def places(self) -> tuple[Path, ...]:
        """The folders whose subfolders are the student's own labs; none in a folder of submissions."""
        if SUBMISSIONS.intersection(self.root.parts):
            return ()
        return (self.root, self.course / COPIES) if self.course else (self.root,)

    @property
    def fetched_folder(self) -> Path:
        """The folder in which `nbgrader fetch_assignment` puts labs."""
        course = str(self.config.CourseDirectory.get("course_id", ""))
        return self.root / course if self.config.Exchange.get("path_includes_course", False) else self.root

    def has_grader(self, lab: str) -> bool:
        """Whether the course here can mark this lab itself."""
        return self.course is not None and (self.course / "source" / lab / f"{lab}.ipynb").is_file()

    def find_own_copy(self, path: str) -> Path | None:
        """Find the notebook at this path from the browser, if it is a student's own copy of a lab.

        Args:
            path: Relative to root, as the browser sends it.

        Returns:
            The notebook, without links, at PLACE/LAB/LAB.ipynb, where PLACE is one of `places`; None for all others.
        """
        found = self.inside(path)
        if found is None or found.suffix != ".ipynb" or found.parent.name != found.stem or not self.places:
            return None
        place = found.parent.parent
        return found if place in self.places or place == self.fetched_folder else None

    def inside(self, path: str) -> Path | None:
        """Resolve a path from the browser; None if it leads out of the root."""
        try:
            found = (self.root / path).resolve()
        except (OSError, ValueError, RuntimeError):  # a name that is too long, a NUL, a loop of links
            return None
        return found if found.is_relative_to(self.root) and found != self.root else None


def read_workspace(root: Path, listed: Iterable[str] = ()) -> Workspace:
    """Decide which course this folder belongs to: the one course at or above it.

    A course is a folder with `source/` and `nbgrader_config.py`. What is in it is run, so it counts only if its folder,
    its configuration and all of `source/` belong to this process's user, to root, or to the owner of the served folder,
    and if no one else can write there. A course inside another one doesn't count: what looks like it may have been
    handed in.

    Args:
        root: The served folder.
        listed: `c.Gradlab.courses` of the server's configuration.
    """
    root, others = root.resolve(), tuple(Path(os.path.abspath(path)) for path in listed)
    if SUBMISSIONS.intersection(root.parts):
        return Workspace(root, listed=others)
    courses = [folder for folder in (root, *root.parents) if _is_course(folder, root)]
    return Workspace(root, courses[0] if len(courses) == 1 else None, others)


def _is_course(folder: Path, root: Path) -> bool:
    source, config = folder / "source", folder / CONFIG
    if not (source.is_dir() and config.is_file()):
        return False
    return is_closed(folder, root) and all(is_trusted(path, root) for path in (config, source, *source.rglob("*")))


def can_configure(path: str, workspace: Workspace) -> bool:
    """Whether the formgrader may run the configuration in this folder, in the server's process.

    A folder that merely looks like a course may be a submission that someone unpacked.

    Args:
        path: As an address names it. What it says is what is run, so no part of it may be a link.
        workspace: Names the courses, as they were when the server started.
    """
    folder = Path(os.path.abspath(path))
    try:
        known = folder in {workspace.course, *workspace.listed} and folder.resolve() == folder
        return known and _is_course(folder, workspace.root)
    except (OSError, ValueError, RuntimeError):
        return False


def is_closed(folder: Path, root: Path) -> bool:
    """Whether no one else can put a file into this folder, which a program that starts there would run."""
    return is_trusted(folder, root) and not (hasattr(os, "getuid") and folder.stat().st_mode & stat.S_IWOTH)


def is_trusted(path: Path, root: Path) -> bool:
    """Whether this path's owner may decide what the server runs, and no one else. One that doesn't exist runs nothing.

    A link is its owner's, wherever it leads. A sticky folder that everyone can write keeps others' files as they are.
    """
    if not hasattr(os, "getuid") or not os.path.lexists(path):
        return True
    status = path.lstat()
    mine = status.st_uid in {os.getuid(), 0, root.stat().st_uid}
    open_to_all = bool(status.st_mode & stat.S_IWOTH) and not (status.st_mode & stat.S_ISVTX)
    return mine and (stat.S_ISLNK(status.st_mode) or not open_to_all)
