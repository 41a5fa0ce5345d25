"""The page that a user of a hub sees after login."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograder.hub.groups import get_assistant_group, get_student_group, get_teacher_group
from autograder.hub.service_names import get_desk_service, get_teaching_service

TEMPLATES = Path(__file__).parent / "templates"
HOME = "/hub/home"  # JupyterHub's, which leads to all of a user's places


def choose_first_page(user: Any, courses: Sequence[str]) -> str:
    """Return the page: a teacher's is in the course, and a student's is their own server, for which it's empty.

    Args:
        user: The hub's; None before login.
        courses: The names of the hub's courses.
    """
    pages = list_course_pages(user, courses)
    groups = _list_groups(user)
    is_student = any(get_student_group(name) in groups for name in courses)
    if len(pages) > 1 or (pages and is_student):
        return HOME
    return pages[0][1] if pages else ""


def list_course_pages(user: Any, courses: Sequence[str]) -> list[tuple[str, str]]:
    """List the title and the address of each place in which a user teaches or marks."""
    groups, pages = _list_groups(user), []
    for name in courses:
        if get_teacher_group(name) in groups:
            pages.append((name, f"/services/{get_teaching_service(name)}/lab"))
        elif get_assistant_group(name) in groups:
            pages.append((f"{name}: answers to mark", f"/services/{get_desk_service(name)}/gradlab/desk/"))
    return pages


def _list_groups(user: Any) -> set[str]:
    return {group.name for group in user.groups} if user else set()
