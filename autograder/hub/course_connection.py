"""Connects a course to the hub's exchange, by two lines in its nbgrader_config.py.

That file is Python of the course's user. If root starts the hub, it's read and written in a process of that user:
`python -m autograder.hub.course_connection COURSE [EXCHANGE]`.
"""

from __future__ import annotations

import json
import os
import pwd
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from traitlets.config import Config

from autograder.base.errors import GradlabError
from autograder.base.file_owner import get_owner_name
from autograder.base.folder_readers import find_closed_folder
from autograder.classroom.grading_settings import read_settings
from autograder.exchange.course_exchange import UTC_NAME, parse_timezone
from autograder.gradebook.nbgrader_course import read_config
from autograder.hub.owner_process import INSTALL_FOR_ALL, explain_closed_python, run_as_owner

FAILED = 3  # exit status of the process, after which its output is the problem


@dataclass(frozen=True)
class CourseExchange:
    """What a course's nbgrader_config.py says about its name and its exchange."""

    course_name: str
    """`course_id`; empty if the file sets none."""
    root: str
    """Empty if the file sets none."""
    checks_owner: bool
    """Whether nbgrader refuses submissions that their student doesn't own."""
    problem: str = ""
    """What keeps the course's watch from marking with this file; empty if nothing does."""
    fix: str = ""
    """How to solve the problem."""

    def is_served_by(self, exchange: Path) -> bool:
        """Return whether the course works with this exchange, where one user owns all submissions."""
        return self.root == str(exchange) and not self.checks_owner


def format_lines(exchange: Path) -> str:
    """Format what nbgrader_config.py has to contain. Only the exchange service writes there, as one system user."""
    return f"c.Exchange.root = {str(exchange)!r}\nc.ExchangeCollect.check_owner = False\n"


def read_course_name(course: Path) -> str:
    """Read `course_id`. Raises GradlabError if the course has none."""
    name = read_exchange(course).course_name
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
        GradlabError: If the course has another exchange, or its file can't be read or written.
    """
    before = read_exchange(course)
    if before.is_served_by(exchange):
        return False
    path = course / "nbgrader_config.py"
    if before.root:
        raise GradlabError(
            f"{path} sets another exchange, {before.root}",
            fix=f"replace its lines about the exchange with these two:\n{format_lines(exchange)}",
        )
    return _run_as_owner(course, exchange).is_served_by(exchange)


def read_exchange(course: Path) -> CourseExchange:
    """Read what the course's nbgrader_config.py says. Raises GradlabError if it fails."""
    return _run_as_owner(course)


def _run_as_owner(course: Path, exchange: Path | None = None) -> CourseExchange:
    """Read the configuration, after the lines were added if an exchange is given."""
    if os.geteuid() != 0 or course.stat().st_uid == 0:
        return _read_configuration(course, exchange)
    arguments = ["-m", "autograder.hub.course_connection", str(course), *([str(exchange)] if exchange else [])]
    process = run_as_owner(course, *arguments)
    if process.returncode == 0:
        return CourseExchange(**json.loads(process.stdout))
    if reason := explain_closed_python(pwd.getpwuid(course.stat().st_uid)):
        raise GradlabError(f"{get_owner_name(course)}, who owns {course}, can't use {reason}", fix=INSTALL_FOR_ALL)
    if closed := find_closed_folder(course, pwd.getpwuid(course.stat().st_uid)):
        owner = get_owner_name(closed)
        raise GradlabError(
            f"{get_owner_name(course)}, who owns {course}, can't enter {closed}",
            fix=f"chmod o+x {closed}" if owner == "root" else f"chown -R {owner}: {course}",
        )
    problem, fix = json.loads(process.stdout) if process.returncode == FAILED else (process.stderr.strip(), "")
    owner = get_owner_name(course)
    raise GradlabError(
        f"{course / 'nbgrader_config.py'} can't be used by {owner}, who owns the course: {problem}",
        fix=fix or f"correct it, or run chown -R {owner} {course}",
    )


def _read_configuration(course: Path, exchange: Path | None) -> CourseExchange:
    if exchange:
        with (course / "nbgrader_config.py").open("a", encoding="utf-8") as file:
            file.write(f"\n# The exchange of the hub. gradlab hub added these lines.\n{format_lines(exchange)}")
    config = read_config(course)
    config.CourseDirectory.root = str(course)  # errors name the file
    error = _find_error(config)
    return CourseExchange(
        course_name=str(config.CourseDirectory.get("course_id", "")),
        root=str(config.Exchange.get("root", "")),
        checks_owner=config.ExchangeCollect.get("check_owner", True) is not False,
        problem=error.placed_problem if error else "",
        fix=error.fix if error else "",
    )


def _find_error(config: Config) -> GradlabError | None:
    """Return the error that `gradlab watch` would raise for these settings."""
    try:
        read_settings(config)
        parse_timezone(config.Exchange.get("timezone", UTC_NAME))
    except GradlabError as error:
        return error
    return None


def main() -> int:
    """Print the course's exchange as JSON, or the problem and its fix."""
    try:
        print(json.dumps(asdict(_read_configuration(Path(sys.argv[1]), Path(sys.argv[2]) if sys.argv[2:] else None))))
    except (GradlabError, OSError) as error:
        problem = (error.placed_problem, error.fix) if isinstance(error, GradlabError) else (str(error), "")
        print(json.dumps(problem))
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
