"""The short page that says why a submission has no mark. It replaces the feedback page."""

from __future__ import annotations

from autograder.reports.page_templates import render_template

SIGN = b'<meta name="gradlab-unmarked"'  # near the top, where no text of a student's can be
HEAD_BYTES = 200  # in which the sign is


def render_notice_page(title: str, student: str, when: str, message: str, more: str = "") -> str:
    """Return the page as HTML.

    Args:
        title: The lab's.
        when: When it was submitted.
        message: The reason in a sentence, which JupyterLab shows too.
        more: What counts instead.
    """
    return render_template("unmarked.html.j2", title=title, student=student, when=when, message=message, more=more)


def is_notice_page(head: bytes) -> bool:
    """Return whether a page that begins with these bytes is such a page."""
    return SIGN in head[:HEAD_BYTES]
