"""The settings of a hub: hub.toml, the only file that an administrator edits, in the hub's folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from autograder.base.errors import GradlabError
from autograder.hub.container_settings import ContainerSettings, check_part_names
from autograder.lms.roster import read_roster
from autograder.model.course import StrictModel
from autograder.model.settings_file import read_settings_file

HUB_FILE = "hub.toml"
FIX = "correct it; docs/hub.md lists the keys"
COURSE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")  # part of an address and of a group's name
USER_NAME = re.compile(r"[a-z0-9][a-z0-9_.@-]*")  # as the hub stores names, and as the exchange can store submissions
LOOPBACK = ("127.0.0.1", "localhost", "::1")
INTERNAL_PORTS = 8  # that a hub may use from `internal_port` on


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


class CourseSettings(StrictModel):
    """A table `[courses.NAME]`; NAME is `course_id` in the course's nbgrader_config.py."""

    folder: Path
    """The course's folder, relative to the hub's."""
    students: Users | str = ()
    """Their names, or a roster: the path of a CSV file."""
    teachers: Users


class HubFile(StrictModel):
    """The whole file."""

    address: Annotated[str, AfterValidator(_check_address)] = "http://127.0.0.1:8000"
    """Where browsers reach the hub."""
    internal_port: int = Field(default=8081, ge=1024, le=65535 - INTERNAL_PORTS - 1)
    """The first of the ports on 127.0.0.1 that the hub and its services use."""
    demo: bool = False
    """Whether everyone shares one system user and one password: for trying it, on this machine only."""
    containers: ContainerSettings | None = None
    """If the hub, its services and students' servers run in containers."""
    proxy: str = ""
    """The path of configurable-http-proxy, if it's neither on PATH nor in this environment."""
    courses: Annotated[dict[str, CourseSettings], AfterValidator(_check_course_names)] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_part_names(self) -> HubFile:
        if self.containers:
            check_part_names(list(self.courses))
        return self


@dataclass(frozen=True)
class HubCourse:
    """A course on the hub."""

    name: str
    folder: Path
    students: tuple[str, ...]
    teachers: tuple[str, ...]


@dataclass(frozen=True)
class Hub:
    """A hub with all paths resolved and rosters read."""

    folder: Path
    address: str
    internal_port: int
    is_demo: bool
    proxy: str
    courses: tuple[HubCourse, ...]
    containers: ContainerSettings | None = None

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches it."""
        return urlsplit(self.address).hostname in LOOPBACK

    @property
    def closed_folder(self) -> Path:
        """The folder around the exchange. It's closed, since nbgrader opens the exchange itself to everyone."""
        return self.containers.exchanges if self.containers else self.folder / "exchange"

    @property
    def exchange(self) -> Path:
        """c.Exchange.root of every course."""
        return self.closed_folder / "courses"

    @property
    def users(self) -> list[str]:
        return sorted({name for course in self.courses for name in (*course.students, *course.teachers)})


def read_settings(path: str | Path) -> Hub:
    """Read this hub.toml. Raises GradlabError if it's missing or not valid."""
    path = Path(path).resolve()
    try:
        file = read_settings_file(path, HubFile, FIX)
    except FileNotFoundError:
        raise GradlabError(f"there is no {path}", fix="gradlab hub COURSE --students ROSTER writes one") from None
    is_here = file.containers is None  # the hub's container hasn't the folders of courses
    courses = tuple(_resolve_course(path, name, course, is_here) for name, course in file.courses.items())
    hub = Hub(path.parent, file.address, file.internal_port, file.demo, file.proxy, courses, file.containers)
    if hub.is_demo and not hub.is_local:
        problem = f"{path}: address: a demo shares one system user and one password, so no other machine may reach it"
        raise GradlabError(problem, fix='write address = "http://127.0.0.1:8000"')
    return hub


def _resolve_course(path: Path, name: str, course: CourseSettings, is_here: bool) -> HubCourse:
    folder, students = (path.parent / course.folder).resolve(), course.students
    if is_here and not (folder / "nbgrader_config.py").is_file():
        raise GradlabError(
            f"{path}: courses.{name}.folder: {folder} has no nbgrader_config.py", fix="write the course's folder"
        )
    if path.parent.is_relative_to(folder):
        raise GradlabError(
            f"{path}: it's inside the course {folder}, and students' files would be, too",
            fix="move the hub's folder out of the course",
        )
    if isinstance(students, str):
        students = tuple(person.id for person in read_roster(path.parent / students))
        try:
            _check_users(students)
        except ValueError as error:
            raise GradlabError(f"{path}: courses.{name}.students: {error}", fix="correct the roster") from None
    return HubCourse(name, folder, students, course.teachers)
