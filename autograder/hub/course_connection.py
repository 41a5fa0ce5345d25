"""Connects a course to the hub's exchange, by two lines in its nbgrader_config.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autograder.base.errors import GradlabError
from autograder.gradebook.nbgrader_course import read_config


def format_lines(exchange: Path) -> str:
    """Format what nbgrader_config.py has to contain. Only the exchange service writes there, as one system user."""
    return f"c.Exchange.root = {str(exchange)!r}\nc.ExchangeCollect.check_owner = False\n"


def is_connected(config: Any, exchange: Path) -> bool:
    """Return whether a course with this configuration uses this exchange."""
    return str(config.Exchange.get("root", "")) == str(exchange) and (
        config.ExchangeCollect.get("check_owner", True) is False
    )


def read_course_name(course: Path) -> str:
    """Read `course_id`. Raises GradlabError if the course has none."""
    name = str(read_config(course).CourseDirectory.get("course_id", ""))
    if not name:
        raise GradlabError(
            f"{course / 'nbgrader_config.py'} sets no c.CourseDirectory.course_id",
            fix='add a line such as c.CourseDirectory.course_id = "pytorch"',
        )
    return name


def connect_course(course: Path, exchange: Path) -> bool:
    """Add the lines if the course has no exchange yet.

    Returns:
        Whether they were added.

    Raises:
        GradlabError: If the course has another exchange.
    """
    path, config = course / "nbgrader_config.py", read_config(course)
    if is_connected(config, exchange):
        return False
    if "root" in config.Exchange:
        raise GradlabError(
            f"{path} sets another exchange, {config.Exchange.root}",
            fix=f"replace its lines about the exchange with these two:\n{format_lines(exchange)}",
        )
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\n# The exchange of the hub. gradlab hub added these lines.\n{format_lines(exchange)}")
    return True
