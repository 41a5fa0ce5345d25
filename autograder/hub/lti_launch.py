"""A launch: what the signed message of a learning management system says about a person, a course and a link."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from autograder.hub.lti_records import Role

CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
GRADES = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
MEMBERS = "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice"
# Only roles in the LMS's course count. A person who teaches elsewhere may be a student here.
MEMBERSHIP = re.compile(r"(?:http://purl\.imsglobal\.org/vocab/lis/v2/membership(?:/(?P<main>\w+))?#)?(?P<role>\w+)")
# Each of them makes a person the first that it's in. Platforms call an assistant an instructor, too.
ROLES = {
    Role.ASSISTANT: frozenset({"TeachingAssistant", "Grader"}),
    Role.TEACHER: frozenset({"Instructor"}),
    Role.STUDENT: frozenset({"Learner", "Student"}),
}
LAB_ADDRESS = re.compile(r"/labs/([^/]+)/?$")
LAB_NAME = re.compile(r"\w[\w. -]*")


class LaunchRefused(Exception):
    """Why a launch is refused, for the person who launched."""


@dataclass(frozen=True)
class Launch:
    """A launch whose signature has been checked."""

    subject: str
    """The person, as the platform identifies them for good."""
    role: Role
    context: str
    """The ID of the platform's course."""
    deployment: str
    course: str
    """The custom parameter `course`; empty if there is none."""
    lab: str
    """The lab that the link is for; empty if it's for none."""
    line_items: str
    """Where the platform keeps columns of its gradebook; empty if the tool may not use it."""
    line_item: str
    """The column that belongs to the link; empty if it has none."""
    scopes: tuple[str, ...]
    """What the tool may do with columns."""
    members: str
    """Where the platform lists the course's people; empty if the tool may not see them."""


def parse_launch(claims: Mapping[str, Any]) -> Launch:
    """Parse the claims of a message that has been checked. Raises LaunchRefused for one that is no use."""
    if claims.get(f"{CLAIM}message_type") != "LtiResourceLinkRequest":
        raise LaunchRefused("Only links in a course can be opened here. This request is of another kind.")
    context = str(_get_table(claims, "context").get("id", ""))
    subject = str(claims.get("sub", ""))
    if not (context and subject):
        raise LaunchRefused("The link must be opened in a course, by a person who is logged in there.")
    role = find_role(claims.get(f"{CLAIM}roles", ()))
    if role is None:
        raise LaunchRefused("Your role in the course gives no access to its labs: you're neither student nor teacher.")
    custom = _get_table(claims, "custom")
    address = LAB_ADDRESS.search(urlsplit(str(claims.get(f"{CLAIM}target_link_uri", ""))).path)
    lab = str(custom.get("lab", "")) or (unquote(address[1]) if address else "")
    if lab and not LAB_NAME.fullmatch(lab):
        raise LaunchRefused("The link's address names no lab. Ask your teacher to correct it.")
    grades, members = claims.get(GRADES) or {}, claims.get(MEMBERS) or {}
    return Launch(
        subject=subject,
        role=role,
        context=context,
        deployment=str(claims.get(f"{CLAIM}deployment_id", "")),
        course=str(custom.get("course", "")),
        lab=lab,
        line_items=str(grades.get("lineitems", "")),
        line_item=str(grades.get("lineitem", "")),
        scopes=tuple(map(str, grades.get("scope", ()))),
        members=str(members.get("context_memberships_url", "")),
    )


def find_role(roles: Any) -> Role | None:
    """Find what these roles of the platform make a person in the course, if anything."""
    matches = [match for role in roles if (match := MEMBERSHIP.fullmatch(str(role)))]
    names = {name for match in matches for name in (match["main"], match["role"])}
    return next((role for role, own in ROLES.items() if names & own), None)


def get_user_name(claims: Mapping[str, Any], key: str) -> str:
    """Return what the claims say for this username_key; empty if they say nothing."""
    if key.startswith("custom_"):
        claims, key = _get_table(claims, "custom"), key.removeprefix("custom_")
    return str(claims.get(key) or "").strip().lower()


def _get_table(claims: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = claims.get(CLAIM + name)
    return table if isinstance(table, dict) else {}
