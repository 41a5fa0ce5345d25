"""The short page that says why a submission has no mark. It takes the place of the feedback page."""

from __future__ import annotations

from autograder.reports.render import render

SIGN = b'<meta name="gradlab-unmarked"'  # in the first lines, where a stranger's text can't be
HEAD = 200  # bytes of these lines


def render_unmarked_page(lab: str, student: str, when: str, words: str, more: str = "") -> str:
    """The page as HTML.

    Args:
        when: When it was handed in.
        words: A sentence, which JupyterLab shows, too.
        more: What counts instead.
    """
    return render("unmarked.html.j2", lab=lab, student=student, when=when, words=words, more=more)


def is_unmarked(head: bytes) -> bool:
    """Whether a page that begins with these bytes is such a page."""
    return SIGN in head[:HEAD]
