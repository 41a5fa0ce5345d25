"""What nbgrader's formgrader may not do in the server that an instructor is logged in to."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from tornado import web

from labext.workspace import CONFIG, SUBMISSIONS, Workspace, is_trusted

# No scripts, and an origin of its own: a page from a submission can't ask the server for anything as its reader.
POLICY = "sandbox; default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; frame-ancestors 'self'"


def protect_formgrader(workspace: Workspace) -> None:
    """Have the formgrader serve files of submissions as files only, and read configurations that the server trusts.

    It serves what is beside a notebook, HTML and SVG included, from the address the instructor is logged in at. And it
    runs `nbgrader_config.py` of whatever folder an address names: a link or a picture in a submission can name one.

    Args:
        workspace: Whose owner may decide what is run.
    """
    with contextlib.suppress(ImportError):
        from nbgrader.server_extensions.formgrader.handlers import FormgraderHandler, SubmissionFilesHandler

        SubmissionFilesHandler.content_security_policy = property(lambda handler: POLICY)
        get = FormgraderHandler.get

        def get_trusted(handler: Any) -> Any:
            path = handler.get_argument("path", "")
            if path and not may_configure(Path(path), workspace.root):
                raise web.HTTPError(403, f"{path} belongs to someone else, so its {CONFIG} is not run")
            return get(handler)

        FormgraderHandler.get = get_trusted


def may_configure(folder: Path, root: Path) -> bool:
    """Whether this folder's configuration may run: it, and what is above it, is only its owner's to change."""
    try:
        folder = folder.resolve()
        paths = [folder, *folder.parents, *(path for path in folder.iterdir() if path.name.startswith("nbgrader_"))]
        return not SUBMISSIONS.intersection(folder.parts) and all(is_trusted(path, root) for path in paths)
    except (OSError, ValueError, RuntimeError):
        return False
