"""The hub's groups of a course. Two have the names that nbgrader gives them."""

from __future__ import annotations


def get_student_group(course: str) -> str:
    return f"nbgrader-{course}"


def get_teacher_group(course: str) -> str:
    return f"formgrade-{course}"


def get_assistant_group(course: str) -> str:
    return f"assist-{course}"


def list_roles(course: str) -> dict[str, str]:
    """List the group of each role, which has the name of its key in hub.toml."""
    return {
        "students": get_student_group(course),
        "teachers": get_teacher_group(course),
        "assistants": get_assistant_group(course),
    }
