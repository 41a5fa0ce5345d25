"""The short page of a submission that has no mark, and why: it stands where its feedback page will, or would."""

from __future__ import annotations

from autograder.reports.render import render

SIGN = b'<meta name="gradlab-unmarked"'  # in the first lines, where no text of a stranger's can be
HEAD = 200  # bytes of them


def render_unmarked_page(lab: str, student: str, when: str, words: str, more: str = "") -> str:
    """when: it was handed in. words: a sentence, which JupyterLab says, too. more: what counts instead."""
    return render("unmarked.html.j2", lab=lab, student=student, when=when, words=words, more=more)


def is_unmarked(head: bytes) -> bool:
    """Whether a page that begins so is one of these."""
    return SIGN in head[:HEAD]
