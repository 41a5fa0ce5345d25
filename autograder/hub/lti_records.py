"""What the hub keeps from launches: who a user is in the LMS, in which of its courses, and where scores go.

The hub writes the file, and the service that sends scores reads it. No other user may read it.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from pydantic import Field, ValidationError

from autograder.base.atomic_files import write_atomically
from autograder.base.errors import GradlabError
from autograder.model.strict_model import StrictModel

LAUNCHES = "launches.json"


class Role(StrEnum):
    """What a person is in a course."""

    STUDENT = "student"
    TEACHER = "teacher"
    ASSISTANT = "assistant"


class Context(StrictModel):
    """A course of the platform, by its context ID."""

    course: str
    """The course on this hub."""
    deployment: str = ""
    line_items: str = ""
    """Where the platform keeps the columns of its gradebook."""
    scopes: tuple[str, ...] = ()
    members: str = ""
    """Where it lists the people."""
    labs: dict[str, str] = Field(default_factory=dict)
    """The column that belongs to the link of a lab."""


class LtiUser(StrictModel):
    """A user who has launched, by name on the hub."""

    subject: str
    """The platform's permanent ID of the person."""
    roles: dict[str, Role] = Field(default_factory=dict)
    """By context ID."""


class LaunchRecords(StrictModel):
    """The whole file."""

    contexts: dict[str, Context] = Field(default_factory=dict)
    users: dict[str, LtiUser] = Field(default_factory=dict)

    def find_user(self, subject: str) -> str:
        """Find the name of the user with this ID; empty if there is none."""
        return next((name for name, user in self.users.items() if user.subject == subject), "")

    def list_roles(self, name: str) -> set[tuple[str, Role]]:
        """List the user's courses on this hub, with their role in each."""
        roles = self.users[name].roles.items() if name in self.users else ()
        return {(self.contexts[context].course, role) for context, role in roles if context in self.contexts}


def read_records(folder: Path) -> LaunchRecords:
    """Read the records in this folder. Raises GradlabError if they're damaged."""
    path = folder / LAUNCHES
    try:
        return LaunchRecords.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return LaunchRecords()
    except ValidationError as error:
        raise GradlabError(
            f"{path} is damaged: {error.errors()[0]['msg']}", fix="restore it from a backup, or remove it"
        ) from None


def write_records(folder: Path, records: LaunchRecords) -> None:
    """Write the records, which only this process's user may read."""
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / LAUNCHES).with_suffix(".new").touch(mode=0o600)
    write_atomically(folder / LAUNCHES, records.model_dump_json(indent=1))
