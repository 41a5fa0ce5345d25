"""nbgrader as a library, with the configuration of a course's folder."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from autograder.base.errors import GradlabError


def open_course(course: Path, isolation: str = "") -> Any:
    """nbgrader's API object for the course in this folder, which holds its nbgrader_config.py.

    isolation: a level of `gradlab doctor`, in place of the one that nbgrader_config.py asks for.
    """
    config = read_config(course)
    from nbgrader.apps import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory

    if isolation:
        config.Examine.isolation = isolation
    log = _make_silent_log()  # it looks for an exchange as it is made, which no command here may need
    return NbGraderAPI(coursedir=CourseDirectory(config=config, log=log), config=config, log=log)


def read_config(course: Path) -> Any:
    """What the course's nbgrader_config.py says; enough where another program's log must stay as it is."""
    course = course.resolve()
    if not (course / "nbgrader_config.py").exists():
        raise GradlabError(
            f"{course} has no nbgrader_config.py: run gradlab in the course's folder, or name it: --course"
        )
    _add_alembic_path()
    _silence_warnings()
    from traitlets.config.loader import PyFileConfigLoader

    if str(course) not in sys.path:
        sys.path.append(str(course))  # plugins that the configuration names; after every installed module
    config = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()
    config.CourseDirectory.root = str(course)
    return config


def _make_silent_log() -> logging.Logger:
    """Nothing on the terminal: what an operation of nbgrader's logs comes back with its result."""
    log = logging.getLogger("autograder.nbgrader")
    log.propagate = False
    log.handlers = [logging.NullHandler()]
    log.setLevel(logging.INFO)
    return log


def _silence_warnings() -> None:
    """nbgrader's own database code warns on every new submission; nothing there is for whoever runs gradlab."""
    warnings.filterwarnings("ignore", category=Warning, module=r"nbgrader\.api")
    warnings.filterwarnings("ignore", message="Non-unique cell id")


def _add_alembic_path() -> None:
    """nbgrader starts `alembic` by name on a new database: it stands beside this interpreter."""
    here = str(Path(sys.executable).parent)
    if here not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = here + os.pathsep + os.environ.get("PATH", "")
