"""The service `roster` of a hub: `python -m autograder.hub.roster_service HUB_FILE`.

It notices when hub.toml or a roster changes. Students who were added can log in, those who were removed are refused,
and the gradebook has everyone's name.
"""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.base.errors import GradlabError
from autograder.base.event_log import record_event
from autograder.base.stop_request import StopRequest
from autograder.hub.account_checks import check_accounts
from autograder.hub.course_people import write_people
from autograder.hub.group_members import list_members
from autograder.hub.groups import list_roles
from autograder.hub.hub_members import HubMembers, connect_members
from autograder.hub.service_names import ROSTER
from autograder.hub.service_output import configure_output
from autograder.hub.settings import Hub, read_settings
from autograder.lms.people import Person

LOOK_SECONDS = 2.0
PAUSE_SECONDS = 10.0  # after something has failed
log = logging.getLogger(__name__)


@dataclass
class RosterUpdate:
    """Keeps the hub's users and the courses' gradebooks those of hub.toml."""

    path: Path
    """hub.toml."""
    members: HubMembers
    _groups: dict[str, Sequence[str]] = field(default_factory=dict)
    """As they were last brought up to date."""
    _people: dict[str, Sequence[Person]] = field(default_factory=dict)
    """Who was put into each course's gradebook."""

    def run(self) -> None:
        """Look for a change, and do what follows from it. Raises GradlabError or OSError if something fails."""
        hub = read_settings(self.path)
        if (groups := list_members(hub)) != self._groups:
            # Before anyone is removed: a misspelt name would stop the server of the student whom it replaces.
            if blocking := next((each for each in check_accounts(hub) if each.blocks), None):
                raise GradlabError(blocking.problem, fix=blocking.cure)
            _record("removed", hub, self.members.remove_others(groups))
            _record("added", hub, self.members.add_missing(groups))
            self._groups = groups
        for course in hub.courses:
            if course.roster and course.roster != self._people.get(course.name):
                write_people(course, course.roster)
                self._people[course.name] = course.roster


def _record(event: str, hub: Hub, changed: Mapping[str, Sequence[str]]) -> None:
    """Say who was added to, or removed from, the groups of the courses.

    Args:
        event: What happened to them.
        hub: Whose courses they are.
        changed: Their names, by group.
    """
    for course in hub.courses:
        for role, group in list_roles(course.name).items():
            if names := ", ".join(changed.get(group, ())):
                log.info("%s %s: %s of %s", event, names, role, course.name)
                record_event(event, users=names, course=course.name, role=role)


def run_service(update: RosterUpdate, stop: StopRequest) -> None:
    """Look for changes until stopped. A problem is reported once, and tried again."""
    reported = ""
    while not stop.is_set():
        try:
            update.run()
            reported = ""
        except (GradlabError, OSError) as error:
            if str(error) != reported:
                log.error("%s", error)
            reported = str(error)
        stop.wait(PAUSE_SECONDS if reported else LOOK_SECONDS)


def main() -> None:
    """Run the service until the hub ends it."""
    configure_output(ROSTER)
    stop = StopRequest()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    run_service(RosterUpdate(Path(sys.argv[1]), connect_members()), stop)


if __name__ == "__main__":
    main()
