"""How the formgrader serves files that a student handed in: as files, never as pages of the server's own."""

from __future__ import annotations

import contextlib
from typing import Any

# No scripts, and an origin of its own: a page from a submission can't ask the server for anything as its reader.
POLICY = "sandbox; default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; frame-ancestors 'self'"


def protect_submission_files() -> None:
    """Have nbgrader's formgrader send this policy with every file of a submission, if nbgrader is installed.

    It serves what lies beside a notebook, HTML and SVG included, from the address that the instructor is logged in at.
    """
    with contextlib.suppress(ImportError):
        from nbgrader.server_extensions.formgrader.handlers import SubmissionFilesHandler

        SubmissionFilesHandler.content_security_policy = property(_policy)


def _policy(handler: Any) -> str:
    return POLICY
