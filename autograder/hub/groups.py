"""The hub's groups of a course. Two have the names that nbgrader gives them."""

from __future__ import annotations


def get_student_group(course: str) -> str:
    return f"nbgrader-{course}"


def get_teacher_group(course: str) -> str:
    return f"formgrade-{course}"


def get_assistant_group(course: str) -> str:
    return f"assist-{course}"
