"""nbgrader's exchange of a class, used in the server's own process: each command would import nbgrader again."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labext.workspace import Workspace


class ExchangeFailure(Exception):
    """Why the exchange didn't do what was asked, in nbgrader's words."""


def open_exchange(workspace: Workspace) -> Any:
    """Return the class's exchange; None without nbgrader, since a student at home may have only labkit."""
    try:
        from nbgrader.exchange import ExchangeFactory
    except ImportError:
        return None
    return ExchangeFactory(config=workspace.config).exchange(config=workspace.config)


def run_exchange(part: str, workspace: Workspace, course: str, lab: str) -> None:
    """Do what an nbgrader command does for a student, and keep files that are there.

    Args:
        part: `submit` or `fetch_assignment`.
        workspace: Has the labs, and the configuration.
        course: The class's course.
        lab: The lab to submit or to fetch.

    Raises:
        ExchangeFailure: If nbgrader refuses.
        OSError: If a file can't be read or written.
    """
    from nbgrader.auth import Authenticator
    from nbgrader.coursedir import CourseDirectory
    from nbgrader.exchange import ExchangeError, ExchangeFactory

    config: Any = copy.deepcopy(workspace.config)
    config.CourseDirectory.course_id, config.CourseDirectory.assignment_id = course, lab
    config.Exchange.assignment_dir = str(workspace.root)
    config.ExchangeFetchAssignment.replace_missing_files = True
    kind = getattr(ExchangeFactory(config=config), part)
    folder, authenticator = CourseDirectory(config=config), Authenticator(config=config)
    try:
        kind(coursedir=folder, authenticator=authenticator, config=config).start()
    except (ExchangeError, RuntimeError) as error:  # the second, if a folder is too large
        raise ExchangeFailure(str(error)) from None
