"""The feedback page of a student's own copy of a lab."""

from __future__ import annotations

import asyncio
import contextlib

from jupyter_server.base.handlers import JupyterHandler
from tornado import web

from labext.class_submission import find_class, read_submission_state
from labext.exchange_client import ExchangeRefusal
from labext.workspace import Workspace
from labkit.mark_file import get_page_path

PAGE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "sandbox allow-same-origin"  # no scripts; the extension sets the page's color scheme from outside
)


class PageHandler(JupyterHandler):
    """GET page/PATH: the feedback page of the notebook at this path, in a class the one that was released last."""

    def initialize(self, workspace: Workspace) -> None:
        self.workspace = workspace

    @web.authenticated
    async def get(self, path: str) -> None:
        own_copy = self.workspace.find_own_copy(path)
        if own_copy and (target := find_class(own_copy, self.workspace)):
            with contextlib.suppress(ExchangeRefusal, OSError):  # then it's the one that is here
                await asyncio.to_thread(read_submission_state, target, own_copy)
        page = get_page_path(own_copy) if own_copy else None
        if page is None or page.is_symlink() or not page.is_file():
            raise web.HTTPError(404, "this notebook hasn't been marked yet")
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Content-Security-Policy", PAGE_POLICY)
        self.finish(page.read_text(encoding="utf-8"))
