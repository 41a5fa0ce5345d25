"""The labs of a student's class: those that the exchange offers, and how far the student is with each."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from labext.class_submission import find_class, is_submitted, read_submission_state
from labext.exchange_client import ExchangeRefusal
from labext.nbgrader_exchange import open_exchange
from labext.workspace import Workspace
from labkit.lab_progress import LabProgress
from labkit.notebook_progress import StartPage, parse_progress, read_progress, read_start_page
from labkit.untrusted_json import DAMAGED, read_notebook


@dataclass(frozen=True)
class OfferedCourse:
    """A course whose labs the student can get."""

    name: str
    page: StartPage
    labs: tuple[dict[str, Any], ...]
    """As LabProgress.as_dict(), each with `course`, `offer`, `due` and `submitted`: whether its present answers are.

    The path of a lab that isn't fetched is empty. `due` is an ISO time; empty if there's none, or it isn't known.

    `offer` is null if the lab isn't released any more; else {newer, submission}.
    """

    @property
    def named_page(self) -> StartPage:
        """The start page, or one with the course's name."""
        return self.page if self.page.title else StartPage(self.name)

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name} | asdict(self.named_page)


@dataclass(frozen=True)
class OfferedCourses:
    """The student's courses; none if there's no class."""

    courses: tuple[OfferedCourse, ...] = ()
    problem: str = ""
    """Why the exchange's present state isn't known."""


def read_offered_courses(workspace: Workspace) -> OfferedCourses:
    """Read what the class's exchange offers, and copy new feedback pages."""
    if workspace.course is not None:  # the course here marks the labs itself
        return OfferedCourses()
    exchange = open_exchange(workspace)
    if exchange is None:
        return OfferedCourses()
    mirror, problem = getattr(exchange, "mirror", None), ""  # of HubExchange
    due: dict[str, dict[str, str]] = {}
    if mirror:
        try:
            names = mirror.fetch_courses("")
            for name in names:
                due[name] = mirror.fetch_news(name, workspace.get_class_folder(name)).due
        except ExchangeRefusal as error:
            names, problem = mirror.list_courses(), str(error)
    else:
        folder = Path(exchange.root) / workspace.course_id / "outbound"
        names = [workspace.course_id] if workspace.course_id and folder.is_dir() else []
    courses = []
    for name in names:
        labs = tuple(_iter_labs(workspace, name, Path(exchange.root) / name / "outbound", mirror, due.get(name, {})))
        courses.append(OfferedCourse(name, read_start_page(workspace.get_class_folder(name)), labs))
    return OfferedCourses(tuple(courses), problem)


def _iter_labs(
    workspace: Workspace, course: str, outbound: Path, mirror: Any, due: dict[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield the labs that the student has got or can get, in order.

    Args:
        due: When they are due, by name.
    """
    folder = workspace.get_class_folder(course)
    place = folder.relative_to(workspace.root)
    offered = {path.name for path in outbound.iterdir() if path.is_dir() and not path.name.startswith(".")}
    # First, since marks arrive with them.
    offers = {name: _read_offer(workspace, folder / name / f"{name}.ipynb", course, mirror) for name in offered}
    fetched = {Path(lab.path).parent.name: lab for lab in read_progress(folder)}
    for name in sorted(fetched.keys() | offered):
        with contextlib.suppress(*DAMAGED):  # a lab that can't be shown doesn't hide the others
            if lab := fetched.get(name):
                data = replace(lab, path=(place / lab.path).as_posix()).as_dict()
            else:
                path = (place / name / f"{name}.ipynb").as_posix() if (folder / name).is_dir() else ""
                data = replace(_read_released_lab(outbound / name), path=path).as_dict()
            notebook = folder / name / f"{name}.ipynb"
            target = find_class(notebook, workspace) if lab else None
            submitted = bool(target and is_submitted(target, read_notebook(notebook)))
            found = {"course": course, "offer": offers.get(name), "due": due.get(name, ""), "submitted": submitted}
            yield data | found


def _read_offer(workspace: Workspace, notebook: Path, course: str, mirror: Any) -> dict[str, Any]:
    target, submission = find_class(notebook, workspace), None
    if target:
        with contextlib.suppress(ExchangeRefusal, OSError):
            submission = read_submission_state(target, notebook)
    return {
        "newer": bool(mirror) and notebook.is_file() and mirror.has_newer_version(course, notebook.stem),
        "submission": asdict(submission) if submission else None,
    }


def _read_released_lab(folder: Path) -> LabProgress:
    """Read what a released lab says about itself; of a stock assignment, only its name is known."""
    with contextlib.suppress(*DAMAGED):
        if lab := parse_progress(read_notebook(folder / f"{folder.name}.ipynb"), "", {}):
            return lab
    return LabProgress(folder.name, folder.name, "", 0, (), "", 0.0, ())
