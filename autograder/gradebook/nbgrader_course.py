"""nbgrader as a library: a course's folder, its configuration and nbgrader's commands, with types."""

from __future__ import annotations

import logging
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from autograder.base.errors import GradlabError, SourceError

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

T = TypeVar("T")


@dataclass(frozen=True)
class GeneratedAssignment:
    """The outcome of nbgrader's generate_assignment."""

    success: bool
    log: str
    """nbgrader's log, and the error that ended it."""


class NbgraderCourse:
    """A course as nbgrader sees it. nbgrader has no types, so all calls to it go through this class."""

    def __init__(self, api: Any) -> None:
        """Wrap nbgrader's API.

        Args:
            api: An NbGraderAPI.
        """
        self.api = api

    @property
    def root(self) -> Path:
        """The course's folder."""
        return Path(self.api.coursedir.root)

    @property
    def db_url(self) -> str:
        """The gradebook's address, as SQLAlchemy writes it."""
        return str(self.api.coursedir.db_url)

    @property
    def course_id(self) -> str:
        """The course's name in the exchange; empty if nbgrader_config.py gives it none."""
        return str(self.api.coursedir.course_id)

    @property
    def config(self) -> Mapping[str, Any]:
        """The settings in nbgrader_config.py, by section."""
        config: Mapping[str, Any] = self.api.config
        return config

    @property
    def ignored_patterns(self) -> list[str]:
        """Patterns of files that nbgrader never copies."""
        return list(self.api.coursedir.ignore)

    @property
    def is_group_shared(self) -> bool:
        """Whether files must be writable by the group."""
        return bool(self.api.coursedir.groupshared)

    def open_gradebook(self) -> AbstractContextManager[Gradebook]:
        """Open the gradebook. Raises GradlabError if no database answers."""
        from autograder.gradebook.database import open_gradebook

        return open_gradebook(self.db_url, self.course_id)

    def build_exchange(self, kind: Callable[..., T]) -> T:
        """Build one of nbgrader's exchange classes for this course."""
        return kind(coursedir=self.api.coursedir, config=self.api.config)

    def read_timestamp(self, folder: Path) -> datetime | None:
        """Read when the submission in this folder was submitted, in naive UTC."""
        time: datetime | None = self.api.coursedir.get_existing_timestamp(str(folder))
        return time

    def generate_assignment(self, name: str) -> GeneratedAssignment:
        """Put the assignment's cells and points into the gradebook, and its notebooks into release/.

        Raises:
            KeyboardInterrupt: As any code does; nbgrader itself returns it as an error of the assignment.
        """
        outcome = self.api.generate_assignment(name, force=True, create=True)
        log = "\n".join(str(outcome.get(part) or "") for part in ("log", "error"))
        if log.splitlines()[-1:] == [KeyboardInterrupt.__name__]:
            raise KeyboardInterrupt
        return GeneratedAssignment(bool(outcome["success"]), log)


def open_course(course: Path, isolation: str = "") -> NbgraderCourse:
    """Open the course in this folder, which holds its nbgrader_config.py.

    Args:
        isolation: A level of `gradlab doctor`, instead of the one in nbgrader_config.py.
    """
    config = read_config(course)
    from nbgrader.apps import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory

    if isolation:
        config.Examine.isolation = isolation
    log = _make_silent_log()  # the API looks for an exchange at once, which a command may not need
    return NbgraderCourse(NbGraderAPI(coursedir=CourseDirectory(config=config, log=log), config=config, log=log))


def read_config(course: Path) -> Any:
    """Read the course's nbgrader_config.py without changing any other program's logging."""
    course = course.resolve()
    if not (course / "nbgrader_config.py").exists():
        raise GradlabError(
            f"{course} has no nbgrader_config.py", fix="run gradlab in the course's folder, or name it with --course"
        )
    _add_alembic_path()
    _silence_warnings()
    from traitlets.config.loader import PyFileConfigLoader

    if str(course) not in sys.path:
        sys.path.append(str(course))  # for plugins that the configuration names; after every installed module
    try:
        config = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()
    except Exception as error:  # whatever the instructor's code raises
        raise _make_config_error(course / "nbgrader_config.py", error) from None
    config.CourseDirectory.root = str(course)
    return config


def _make_config_error(path: Path, error: Exception) -> SourceError:
    """Say on which line of nbgrader_config.py an exception was raised."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == str(path) else None
    line = line or (frames[-1].lineno if frames else None) or 1
    problem = f"{type(error).__name__}: {error.msg if isinstance(error, SyntaxError) else error}"
    return SourceError(path, line, problem, "correct it; docs/settings.md lists Gradlab's settings")


def _make_silent_log() -> logging.Logger:
    """Make a log that prints nothing, since what nbgrader logs is returned with its result."""
    log = logging.getLogger("autograder.nbgrader")
    log.propagate = False
    log.handlers = [logging.NullHandler()]
    log.setLevel(logging.INFO)
    return log


def _silence_warnings() -> None:
    """Silence nbgrader's database code, which warns on every new submission about things that users can't change."""
    warnings.filterwarnings("ignore", category=Warning, module=r"nbgrader\.api")
    warnings.filterwarnings("ignore", message="Non-unique cell id")


def _add_alembic_path() -> None:
    """Put this interpreter's folder on PATH: nbgrader starts `alembic` by name for a new database."""
    here = str(Path(sys.executable).parent)
    if here not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = here + os.pathsep + os.environ.get("PATH", "")
