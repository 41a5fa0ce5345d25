"""Limits on what the server sends to a logged-in browser, where no page from other people's files may run."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from tornado import web

from labext.workspace import SUBMISSIONS, Workspace

# No scripts and a separate origin, so a page from a submission can't send requests as its reader.
POLICY = "sandbox; default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; frame-ancestors 'self'"
WHOLE_PAGES = ("document", "iframe")  # destinations that aren't parts of another page


def protect_pages(workspace: Workspace) -> None:
    """Make the server sandbox submissions' files, and keep other pages from logging the user out.

    Args:
        workspace: Shows whether the served folder holds other people's files.
    """
    from jupyter_server.auth.logout import LogoutHandler
    from jupyter_server.base.handlers import AuthenticatedFileHandler
    from jupyter_server.files.handlers import FilesHandler
    from jupyter_server.nbconvert.handlers import NbconvertFileHandler

    is_foreign = bool(SUBMISSIONS.intersection(workspace.root.parts))
    handlers: tuple[Any, ...] = (AuthenticatedFileHandler, FilesHandler, NbconvertFileHandler)
    for kind in handlers:
        default = kind.content_security_policy

        def choose_policy(handler: Any, default: Any = default) -> str:
            parts = PurePosixPath(unquote(handler.request.path).casefold()).parts  # what the server opens
            return POLICY if is_foreign or SUBMISSIONS.intersection(parts) else str(default.fget(handler))

        kind.content_security_policy = property(choose_policy)
    logout_handler: Any = LogoutHandler
    log_out = logout_handler.get

    def log_out_from_page(handler: Any) -> Any:
        refuse_parts_of_pages(handler)
        return log_out(handler)

    logout_handler.get = log_out_from_page


def refuse_parts_of_pages(handler: Any) -> None:
    """Raise 403 if the request is for a part of a page, such as a picture: any page can name this server's URLs."""
    if handler.request.headers.get("Sec-Fetch-Dest", "document") not in WHOLE_PAGES:
        raise web.HTTPError(403, "this address is a page and can't be part of another one")
