"""What the browser asks the server: where the student stands, and marks."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import APIHandler, JupyterHandler
from jupyter_server.utils import url_path_join
from tornado import web

from labext.class_submission import ASK, SubmissionError, find_class, submit_notebook
from labext.marking import GraderProcess, GraderUnavailable
from labext.workspace import Workspace
from labkit.progress import DAMAGED, get_page_path, parse_progress, read_marks, read_progress, read_title

MAX_BYTES = 20_000_000  # of a notebook whose state the browser asks for
PAGE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "sandbox allow-same-origin"  # no scripts; the extension sets the page's colour scheme from outside
)
NOT_YOURS = "Only your own copy of a lab can be marked: LAB/LAB.ipynb in the folder that JupyterLab was started on."


def add_handlers(app: Any, workspace: Workspace) -> None:
    """Answer the browser's requests below /gradlab for this workspace."""
    given = {"workspace": workspace, "grader": GraderProcess(workspace.course)}
    routes = {"course": CourseHandler, "state": StateHandler, "mark": MarkHandler, "page/(.+)": PageHandler}
    base = app.settings["base_url"]
    app.add_handlers(".*$", [(url_path_join(base, "gradlab", path), kind, given) for path, kind in routes.items()])


class CourseHandler(APIHandler):
    """GET: {title, labs}, of every lab in JupyterLab's folder, each with `changed`: when it was saved last."""

    def initialize(self, workspace: Workspace, grader: GraderProcess) -> None:
        self.workspace = workspace

    @web.authenticated
    def get(self) -> None:
        folder = self.workspace.root
        labs = []
        for lab in read_progress(folder):
            with contextlib.suppress(*DAMAGED):  # a lab that can't be shown costs its own place only
                labs.append(lab.as_dict() | {"changed": _read_change_time(folder / lab.path)})
        self.finish({"title": read_title(folder), "labs": labs})


class StateHandler(APIHandler):
    """POST {path, notebook}: one lab as it stands in the browser, where it may not be saved yet."""

    def initialize(self, workspace: Workspace, grader: GraderProcess) -> None:
        self.workspace, self.grader = workspace, grader

    @web.authenticated
    async def post(self) -> None:
        if len(self.request.body) > MAX_BYTES:
            raise web.HTTPError(413, "this notebook is too large to be looked at")
        asked = _read_request(self)
        root, at = self.workspace.root, str(asked.get("path", ""))
        own = self.workspace.find_own_copy(at)
        path = own or self.workspace.inside(at)
        if path is None:
            raise web.HTTPError(404, "there is no such notebook")
        try:
            lab = parse_progress(
                asked.get("notebook", {}), path.relative_to(root).as_posix(), read_marks(own) if own else {}
            )
            shown = lab.as_dict() if lab else None
        except DAMAGED:
            lab = shown = None
        if lab is None or shown is None:
            raise web.HTTPError(400, "this notebook is not a lab of a course")
        if own and self.workspace.has_grader(own.stem) and any(work.state != "untouched" for work in lab.work):
            await self.grader.begin()
        self.finish(shown)


class MarkHandler(APIHandler):
    """POST {path}: the notebook, as it is saved, goes to the grader; {points, worth, words, page}.

    In a class it is handed in, once the student has agreed: {ask}, and with {path, agreed} {words, marked, page}.
    """

    def initialize(self, workspace: Workspace, grader: GraderProcess) -> None:
        self.workspace, self.grader = workspace, grader

    @web.authenticated
    async def post(self) -> None:
        asked = _read_request(self)
        path = self.workspace.find_own_copy(str(asked.get("path", "")))
        if path is None:
            raise web.HTTPError(409, NOT_YOURS)
        to = None if self.workspace.has_grader(path.stem) else find_class(path, self.workspace)
        try:
            if to and not asked.get("agreed"):
                self.finish({"ask": ASK})
                return
            marked = await submit_notebook(to, path) if to else await self.grader.mark(path)
        except (GraderUnavailable, SubmissionError) as error:
            raise web.HTTPError(409, str(error)) from None
        self.finish(marked | {"page": path.relative_to(self.workspace.root).as_posix()})


class PageHandler(JupyterHandler):
    """GET page/PATH: the feedback page of the notebook at this path."""

    def initialize(self, workspace: Workspace, grader: GraderProcess) -> None:
        self.workspace = workspace

    @web.authenticated
    def get(self, path: str) -> None:
        own = self.workspace.find_own_copy(path)
        page = get_page_path(own) if own else None
        if page is None or page.is_symlink() or not page.is_file():
            raise web.HTTPError(404, "this notebook has not been marked yet")
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Content-Security-Policy", PAGE_POLICY)
        self.finish(page.read_text(encoding="utf-8"))


def _read_change_time(path: Path) -> float:
    """When this file was saved last, in seconds; 0 if it is gone by now."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _read_request(handler: APIHandler) -> dict[str, Any]:
    """The JSON object that the browser sent. Raises a 400 for anything else."""
    asked = handler.get_json_body() or {}
    if not isinstance(asked, dict):
        raise web.HTTPError(400, "the request is not a JSON object")
    return asked
