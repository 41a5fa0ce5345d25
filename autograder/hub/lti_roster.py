"""Reads a course's students from the learning management system, for the gradebook and for the scores' addressees."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autograder.hub.lti_launch import find_role
from autograder.hub.lti_ledger import Ledger
from autograder.hub.lti_platform import Platform, PlatformRefusal, PlatformUnavailable
from autograder.hub.lti_records import LaunchRecords, Role
from autograder.hub.lti_scores import Pause
from autograder.hub.settings import USER_NAME
from autograder.lms.people import Person

log = logging.getLogger(__name__)
ROSTER_SECONDS = 600.0  # between two looks
FIELDS = {"sub": "user_id"}  # a member's name for a claim, if it has another one


@dataclass
class RosterReader:
    """Keeps the gradebook's students those of the platform's courses. Students who leave stay in the gradebook."""

    platform: Platform
    ledger: Ledger
    write: Callable[[Sequence[Person]], None]
    """Puts people into the gradebook. Raises OSError if it fails."""
    _next_look: float = 0.0
    _members: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """As the platform lists them, by context."""
    _written: tuple[Person, ...] = ()
    _pause: Pause = field(default_factory=Pause)

    def update(self, records: LaunchRecords) -> None:
        """Read the members if it's time, or a course has been added. Write the students if there's a change.

        A student's name may be known only once they have launched.

        Args:
            records: Of this course only.
        """
        addresses = {name: context.members for name, context in records.contexts.items() if context.members}
        if not self._pause.is_over:
            return
        try:
            if time.monotonic() >= self._next_look or addresses.keys() != self._members.keys():
                self._members = {name: self.platform.list_members(address) for name, address in addresses.items()}
                self._next_look = time.monotonic() + ROSTER_SECONDS
            people = self._find_people(records)
            if people != self._written:
                self.write(people)
                log.info("the roster has %d students", len(people))
        except (PlatformUnavailable, PlatformRefusal, OSError) as error:
            log.warning("the roster waits for %.0f seconds: %s", self._pause.extend(), error)
            return
        self._written, self._pause = people, Pause()

    def _find_people(self, records: LaunchRecords) -> tuple[Person, ...]:
        """Find the students whose names are known, and record whose scores go where."""
        people: dict[str, Person] = {}
        for context, members in self._members.items():
            built = [build_person(member, records, self.platform.settings.username_key) for member in members]
            found = [person for person in built if person]
            names = {person.lms_id: person.id for person in found}
            if names != self.ledger.read_members(context):
                self.ledger.record_members(context, names)
            people |= {person.id: person for person in found}
        return tuple(people[name] for name in sorted(people))


def build_person(member: Mapping[str, Any], records: LaunchRecords, username_key: str) -> Person | None:
    """Build a student of the gradebook; None for other members, and for those who can't be named before they launch."""
    subject = str(member.get("user_id", ""))
    is_student = find_role(member.get("roles", ())) is Role.STUDENT and member.get("status", "Active") == "Active"
    name = records.find_user(subject) or str(member.get(FIELDS.get(username_key, username_key)) or "").strip().lower()
    is_taken = name in records.users and records.users[name].subject != subject
    if not (subject and is_student and USER_NAME.fullmatch(name)) or is_taken:
        return None
    first, last = str(member.get("given_name") or ""), str(member.get("family_name") or "")
    if not (first or last):
        first, _, last = str(member.get("name") or "").rpartition(" ")
    return Person(id=name, first_name=first, last_name=last, email=str(member.get("email") or ""), lms_id=subject)
