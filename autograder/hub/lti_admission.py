"""Who a launch admits: the user's name, the course on this hub, and what the hub keeps of it."""

from __future__ import annotations

import os
import pwd
from collections.abc import Collection

from autograder.hub.groups import get_assistant_group, get_student_group, get_teacher_group
from autograder.hub.lti_launch import Launch, LaunchRefused
from autograder.hub.lti_records import Context, LaunchRecords, LtiUser, Role
from autograder.hub.lti_settings import LtiSettings
from autograder.hub.settings import HUB_FILE, USER_NAME, Hub

FIRST_USER = 1000  # system accounts have smaller numbers


def drop_disconnected(records: LaunchRecords, lti: LtiSettings, courses: Collection[str]) -> LaunchRecords:
    """Return the records with the platform's courses connected as hub.toml says now, and without others."""
    contexts = {}
    for name, context in records.contexts.items():
        course = lti.contexts.get(name, context.course)
        if course in courses and (name in lti.contexts or course not in lti.contexts.values()):
            contexts[name] = context.model_copy(update={"course": course})
    return records.model_copy(update={"contexts": contexts})


def choose_course(launch: Launch, records: LaunchRecords, lti: LtiSettings, courses: Collection[str]) -> str:
    """Choose the course on this hub.

    A course that hub.toml connects with no course of the platform belongs to the first one in which a teacher opens a
    link. Otherwise, any teacher of the platform could make themselves one of this course.

    Args:
        records: As drop_disconnected() returns them.
        courses: The hub's.

    Raises:
        LaunchRefused: If the platform's course isn't connected with one.
    """
    if context := records.contexts.get(launch.context):
        return context.course
    if launch.context in lti.contexts:
        return lti.contexts[launch.context]
    course = launch.course or (next(iter(courses)) if len(courses) == 1 else "")
    taken = {*lti.contexts.values(), *(context.course for context in records.contexts.values())}
    if course not in courses or course in taken:
        raise LaunchRefused(
            "This course isn't connected with the labs. Its teacher can ask the hub's administrator to add "
            f"{launch.context!r} to [lti.contexts] in {HUB_FILE}."
        )
    if launch.role is not Role.TEACHER:
        raise LaunchRefused("Your teacher has to open this link once, before students can.")
    return course


def choose_name(launch: Launch, claimed: str, records: LaunchRecords) -> str:
    """Choose the user's name: the one of their first launch, so it stays when the LMS changes an address.

    Args:
        claimed: What the launch calls the person.

    Raises:
        LaunchRefused: If they can't have the name.
    """
    if known := records.find_user(launch.subject):
        return known
    if not claimed:
        raise LaunchRefused(
            "The learning management system doesn't say who you are. The hub's administrator can make it send what "
            f"username_key in {HUB_FILE} asks for."
        )
    if not USER_NAME.fullmatch(claimed):
        raise LaunchRefused(f"{claimed!r} can't be a user's name here: it has other characters than a-z 0-9 . _ @ -")
    if claimed in records.users:
        raise LaunchRefused(f"{claimed!r} is another person's name here. The hub's administrator can help.")
    return claimed


def refuse_system_account(name: str, hub: Hub) -> None:
    """Raise LaunchRefused if a server of this name can't start, or would run with other rights than a student's."""
    if hub.is_demo:
        return
    try:
        account = pwd.getpwnam(name)
    except KeyError:
        if hub.creates_accounts:
            return
        raise LaunchRefused(f"There's no account {name!r} on the hub's machine. Its administrator can help.") from None
    owners = {course.folder.stat().st_uid for course in hub.courses} | {os.geteuid()}
    if account.pw_uid < FIRST_USER or account.pw_uid in owners or name == hub.exchange_user:
        raise LaunchRefused(f"{name!r} is an account of the hub's machine, so no one can have this name.")


def admit_launch(launch: Launch, claimed: str, records: LaunchRecords, hub: Hub) -> tuple[str, LaunchRecords]:
    """Admit the person who launched.

    Args:
        claimed: What the launch calls them.
        records: What the hub has kept so far.

    Returns:
        The user's name, and the records with this launch.

    Raises:
        LaunchRefused: If they aren't admitted.
    """
    assert hub.lti is not None
    names = [course.name for course in hub.courses]
    course = choose_course(launch, drop_disconnected(records, hub.lti, names), hub.lti, names)
    name = choose_name(launch, claimed, records)
    refuse_system_account(name, hub)
    before = records.contexts.get(launch.context, Context(course=course))
    context = Context(
        course=course,
        deployment=launch.deployment,
        line_items=launch.line_items or before.line_items,
        scopes=launch.scopes or before.scopes,
        members=launch.members or before.members,
        labs=before.labs | ({launch.lab: launch.line_item} if launch.lab and launch.line_item else {}),
    )
    roles = records.users[name].roles if name in records.users else {}
    user = LtiUser(subject=launch.subject, roles={**roles, launch.context: launch.role})
    return name, LaunchRecords(
        contexts=records.contexts | {launch.context: context}, users=records.users | {name: user}
    )


def list_groups(name: str, records: LaunchRecords, hub: Hub) -> list[str]:
    """List the groups of a user: those of every course in which they have opened a link."""
    assert hub.lti is not None
    records = drop_disconnected(records, hub.lti, [course.name for course in hub.courses])
    groups = {
        Role.STUDENT: get_student_group,
        Role.TEACHER: get_teacher_group,
        Role.ASSISTANT: get_assistant_group,
    }
    return sorted(groups[role](course) for course, role in records.list_roles(name))
