"""Puts people into a course's gradebook, in a process of the user who owns the course."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from autograder.hub.owner_process import choose_owner
from autograder.hub.settings import HubCourse
from autograder.lms.people import Person


def write_people(course: HubCourse, people: Sequence[Person]) -> None:
    """Put people into the gradebook. Raises OSError if it fails."""
    text = json.dumps([person.model_dump() for person in people])
    command = build_course_command(course, "people")
    try:
        subprocess.run(command, input=text, check=True, **choose_course_options(course))
    except subprocess.CalledProcessError as error:
        raise OSError(f"the gradebook of {course.name} can't be written: status {error.returncode}") from None


def build_course_command(course: HubCourse, part: str) -> list[str]:
    """Build the command of a part of course_process.py."""
    return [sys.executable, "-P", "-m", "autograder.hub.course_process", str(course.folder), part]


def choose_course_options(course: HubCourse) -> dict[str, Any]:
    """Return the options of a process that runs as the course's owner, without the hub's token."""
    options = choose_owner(course.folder)
    options["env"].pop("JUPYTERHUB_API_TOKEN", None)
    return {"text": True, "cwd": "/", "umask": 0o022} | options
