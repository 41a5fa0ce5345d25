"""The names of a hub's services, which are parts of addresses, containers' names and logs' folders."""

from __future__ import annotations

EXCHANGE = "exchange"
CULLER = "stop-idle-servers"
ROSTER = "roster"


def get_teaching_service(course: str) -> str:
    """Return the name of the service in which a course's teachers work."""
    return f"teach-{course}"


def get_desk_service(course: str) -> str:
    """Return the name of the service in which a course's assistants read and mark answers."""
    return f"desk-{course}"


def get_grades_service(course: str) -> str:
    """Return the name of the service that sends a course's scores to the learning management system."""
    return f"grades-{course}"


def get_watch_service(course: str) -> str:
    """Return the name of the service that marks a course's submissions."""
    return f"watch-{course}"
