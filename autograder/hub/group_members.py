"""Who is in the hub's groups, by hub.toml."""

from __future__ import annotations

from collections.abc import Sequence

from autograder.hub.groups import get_assistant_group, get_student_group, get_teacher_group
from autograder.hub.settings import Hub, HubCourse


def has_assistants(hub: Hub, course: HubCourse) -> bool:
    """Return whether a course has a group and a service for assistants. With LTI, the platform says who they are."""
    return bool(course.assistants) or hub.lti is not None


def list_members(hub: Hub) -> dict[str, Sequence[str]]:
    """List the members of the groups of all courses, by group."""
    members: dict[str, Sequence[str]] = {}
    for course in hub.courses:
        members[get_student_group(course.name)] = course.students
        members[get_teacher_group(course.name)] = course.teachers
        if has_assistants(hub, course):
            members[get_assistant_group(course.name)] = course.assistants
    return members
