"""The settings of a hub: hub.toml, the only file that an administrator edits, in the hub's folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from autograder.base.errors import GradlabError
from autograder.hub.container_settings import PART_NAME, ContainerSettings
from autograder.hub.lti_settings import LOOPBACK, LtiSettings
from autograder.hub.tls_settings import TLSSettings
from autograder.lms.people import Person
from autograder.lms.roster import read_roster
from autograder.model.settings_file import read_settings_file
from autograder.model.strict_model import StrictModel

HUB_FILE = "hub.toml"
EXCHANGE_FOLDER = "exchange"
FIX = "correct it; docs/hub.md lists the keys"
COURSE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")  # part of an address and of a group's name
USER_NAME = re.compile(r"[a-z0-9][a-z0-9_.@-]*")  # as the hub stores names, and as the exchange can store submissions
INTERNAL_PORTS = 64  # that a hub may use from `internal_port` on
MIN_PORT, MAX_INTERNAL_PORT, DEFAULT_INTERNAL_PORT = 1024, 65535 - INTERNAL_PORTS - 1, 8081


def _check_address(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("write it as http://127.0.0.1:8000 or https://HOST")
    return address


def _check_users(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not USER_NAME.fullmatch(name):
            raise ValueError(f"{name!r} can't be a user: write lower case letters, digits and . _ @ - only")
    return names


def _check_course_names(courses: dict[str, CourseSettings]) -> dict[str, CourseSettings]:
    if wrong := [name for name in courses if not COURSE_NAME.fullmatch(name)]:
        raise ValueError(f"{wrong[0]!r} can't be a course's name: write letters, digits, _ and - only")
    return courses


Users = Annotated[tuple[str, ...], AfterValidator(_check_users)]


class Interface(StrEnum):
    """What students work in: JupyterLab or Jupyter Notebook 7."""

    LAB = "lab"
    NOTEBOOK = "notebook"


class CourseSettings(StrictModel):
    """A table `[courses.NAME]`; NAME is `course_id` in the course's nbgrader_config.py."""

    folder: Path
    """The course's folder, relative to the hub's."""
    students: Users | str = ()
    """Their names, or a roster: the path of a CSV file."""
    teachers: Users = ()
    assistants: Users = ()
    """They read and mark answers, and can't change or read anything else in the course."""


class HubFile(StrictModel):
    """The whole file."""

    address: Annotated[str, AfterValidator(_check_address)] = "http://127.0.0.1:8000"
    """Where browsers reach the hub."""
    internal_port: int = Field(default=DEFAULT_INTERNAL_PORT, ge=MIN_PORT, le=MAX_INTERNAL_PORT)
    """The first of the ports on 127.0.0.1 that the hub and its services use."""
    interface: Interface = Interface.LAB
    """What students work in."""
    demo: bool = False
    """Whether everyone shares one system user and one password: for trying it, on this machine only."""
    containers: ContainerSettings | None = None
    """If the hub, its services and students' servers run in containers."""
    exchange_user: str = "gradlab-exchange"
    """The system user as which the exchange runs, unless it's a demo. It can't read a course."""
    create_accounts: bool = False
    """Whether the hub creates the system users of students and teachers who have none."""
    idle_minutes: int = Field(default=60, ge=0)
    """A student's server without activity for so long is stopped; 0 for never."""
    tls: TLSSettings | None = None
    """For an https address that the hub's own proxy serves."""
    proxy: str = ""
    """The path of configurable-http-proxy, if it's neither on PATH nor in this environment."""
    courses: Annotated[dict[str, CourseSettings], AfterValidator(_check_course_names)] = Field(min_length=1)
    lti: LtiSettings | None = None
    """The learning management system from which everyone logs in. Its roles decide who is a student or a teacher."""


@dataclass(frozen=True)
class HubCourse:
    """A course on the hub."""

    name: str
    folder: Path
    students: tuple[str, ...]
    teachers: tuple[str, ...]
    assistants: tuple[str, ...]
    roster: tuple[Person, ...]
    """The students, if a file lists them."""
    roster_file: Path | None
    exchange: Path
    """c.Exchange.root of this course."""

    @property
    def gate(self) -> Path:
        """The folder around the exchange: open to the exchange's user and the course's group, closed to others.

        nbgrader opens the exchange itself to everyone.
        """
        return self.exchange.parent

    @property
    def exchange_folder(self) -> Path:
        """The course's part of its exchange."""
        return self.exchange / self.name


@dataclass(frozen=True)
class Hub:
    """A hub with all paths resolved and rosters read."""

    folder: Path
    address: str
    internal_port: int
    interface: Interface
    is_demo: bool
    exchange_user: str
    creates_accounts: bool
    idle_minutes: int
    tls: TLSSettings | None
    """With absolute paths."""
    proxy: str
    courses: tuple[HubCourse, ...]
    containers: ContainerSettings | None
    lti: LtiSettings | None

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches it."""
        return urlsplit(self.address).hostname in LOOPBACK

    @property
    def exchange(self) -> Path:
        """The folder with the exchanges of all courses."""
        return self.containers.exchanges if self.containers else self.folder / EXCHANGE_FOLDER

    @property
    def lti_folder(self) -> Path:
        """What the hub keeps for LTI: its key, launches, and the scores that were sent."""
        return self.folder / "lti"

    @property
    def users(self) -> list[str]:
        return sorted({name for each in self.courses for name in (*each.students, *each.teachers, *each.assistants)})


def read_settings(path: str | Path) -> Hub:
    """Read this hub.toml. Raises GradlabError if it's missing or not valid."""
    path = Path(path).resolve()
    try:
        file = read_settings_file(path, HubFile, FIX)
    except FileNotFoundError:
        raise GradlabError(f"there is no {path}", fix="gradlab hub COURSE --students ROSTER writes one") from None
    courses = tuple(_resolve_course(path, name, course, file.containers) for name, course in file.courses.items())
    tls = file.tls and TLSSettings(certificate=path.parent / file.tls.certificate, key=path.parent / file.tls.key)
    hub = Hub(
        folder=path.parent,
        address=file.address,
        internal_port=file.internal_port,
        interface=file.interface,
        is_demo=file.demo,
        exchange_user=file.exchange_user,
        creates_accounts=file.create_accounts,
        idle_minutes=file.idle_minutes,
        tls=tls,
        proxy=file.proxy and str(path.parent / file.proxy),
        courses=courses,
        containers=file.containers,
        lti=file.lti,
    )
    _check_courses(path, file)
    if file.containers:
        _check_part_names(path, file)
    if hub.is_demo and not hub.is_local:
        problem = f"{path}: address: a demo shares one system user and one password, so no other machine may reach it"
        raise GradlabError(problem, fix='write address = "http://127.0.0.1:8000"')
    return hub


def _check_part_names(path: Path, file: HubFile) -> None:
    """Raise GradlabError if a course's name can't be part of a container's name in its network."""
    if wrong := [name for name in file.courses if not PART_NAME.fullmatch(name)]:
        raise GradlabError(
            f"{path}: courses.{wrong[0]}: this can't be part of a container's name",
            fix="use lower case letters, digits and - only in the course's name, its course_id",
        )


def _check_courses(path: Path, file: HubFile) -> None:
    """Raise GradlabError if a course has no teacher, or LTI isn't possible like this."""
    if file.lti is None:
        for name, course in file.courses.items():
            if not course.teachers:
                raise GradlabError(f"{path}: courses.{name}.teachers: there are none", fix='write teachers = ["NAME"]')
    elif file.containers:
        raise GradlabError(f"{path}: lti: it doesn't work with containers yet", fix="remove one of the two tables")
    elif unknown := set(file.lti.contexts.values()) - file.courses.keys():
        raise GradlabError(
            f"{path}: lti.contexts: there is no course {sorted(unknown)[0]!r}", fix="write NAME of a [courses.NAME]"
        )


def _resolve_course(path: Path, name: str, course: CourseSettings, containers: ContainerSettings | None) -> HubCourse:
    folder = (path.parent / course.folder).resolve()
    # The hub's own container doesn't have the folders of courses.
    if containers is None and not (folder / "nbgrader_config.py").is_file():
        raise GradlabError(
            f"{path}: courses.{name}.folder: {folder} has no nbgrader_config.py", fix="write the course's folder"
        )
    if path.parent.is_relative_to(folder):
        raise GradlabError(
            f"{path}: it's inside the course {folder}, and students' files would be, too",
            fix="move the hub's folder out of the course",
        )
    students, roster, roster_file = course.students, tuple[Person, ...](), None
    if isinstance(students, str):
        roster_file = path.parent / students
        roster = tuple(read_roster(roster_file))
        students = tuple(person.id for person in roster)
        try:
            _check_users(students)
        except ValueError as error:
            raise GradlabError(f"{path}: courses.{name}.students: {error}", fix="correct the roster") from None
    exchanges = containers.exchanges if containers else path.parent / EXCHANGE_FOLDER
    exchange = exchanges / name / "nbgrader"
    return HubCourse(name, folder, students, course.teachers, course.assistants, roster, roster_file, exchange)
