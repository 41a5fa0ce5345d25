"""What the server sends to a browser that is logged in: no page among other people's files runs there."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from tornado import web

from labext.workspace import SUBMISSIONS, Workspace

# No scripts, and an origin of its own: a page from a submission can't ask the server for anything as its reader.
POLICY = "sandbox; default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; frame-ancestors 'self'"
WHOLE_PAGES = ("document", "iframe")  # what a browser says an address is for, if it's no part of another page


def protect_pages(workspace: Workspace) -> None:
    """Have the server send submissions' files without leave to run, and log no one out for a picture.

    Args:
        workspace: Which files are other people's.
    """
    from jupyter_server.auth.logout import LogoutHandler
    from jupyter_server.base.handlers import AuthenticatedFileHandler
    from jupyter_server.files.handlers import FilesHandler
    from jupyter_server.nbconvert.handlers import NbconvertFileHandler

    is_of_others = bool(SUBMISSIONS.intersection(workspace.root.parts))
    handlers: tuple[Any, ...] = (AuthenticatedFileHandler, FilesHandler, NbconvertFileHandler)
    for kind in handlers:
        usual = kind.content_security_policy

        def choose_policy(handler: Any, usual: Any = usual) -> str:
            parts = PurePosixPath(unquote(handler.request.path).casefold()).parts  # what the server opens
            return POLICY if is_of_others or SUBMISSIONS.intersection(parts) else str(usual.fget(handler))

        kind.content_security_policy = property(choose_policy)
    of_logout: Any = LogoutHandler
    log_out = of_logout.get

    def log_out_from_page(handler: Any) -> Any:
        refuse_parts_of_pages(handler)
        return log_out(handler)

    of_logout.get = log_out_from_page


def refuse_parts_of_pages(handler: Any) -> None:
    """Raise 403 for a picture, a script or another part of a page: any page can name an address of this server."""
    if handler.request.headers.get("Sec-Fetch-Dest", "document") not in WHOLE_PAGES:
        raise web.HTTPError(403, "this address is a page, and no part of another one")
