"""What the browser asks the server: where the student stands, and marks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import APIHandler, JupyterHandler
from jupyter_server.utils import url_path_join
from tornado import web

from labext.handing_in import ASK, NotHandedIn, class_of, hand_in
from labext.marking import GraderProcess, NoGrader, course_of
from labkit.progress import marks_of, page_path, progress_of, read_progress, title_of

MAX_BYTES = 20_000_000  # of a notebook that is told


def add_handlers(app: Any, root: str) -> None:
    """root: the folder that JupyterLab shows."""
    folder = Path(root).resolve()
    given = {"folder": folder, "grader": GraderProcess()}
    routes = {"course": CourseHandler, "state": StateHandler, "mark": MarkHandler, "page/(.+)": PageHandler}
    base = app.settings["base_url"]
    app.add_handlers(".*$", [(url_path_join(base, "gradlab", path), kind, given) for path, kind in routes.items()])


class CourseHandler(APIHandler):
    """GET: {title, labs}, of every lab in JupyterLab's folder, each with `changed`: when it was saved last."""

    def initialize(self, folder: Path, grader: GraderProcess) -> None:
        self.folder = folder

    @web.authenticated
    def get(self) -> None:
        labs = [
            lab.as_dict() | {"changed": (self.folder / lab.path).stat().st_mtime} for lab in read_progress(self.folder)
        ]
        self.finish({"title": title_of(self.folder), "labs": labs})


class StateHandler(APIHandler):
    """POST {path, notebook}: one lab as it stands in the browser, where it may not be saved yet."""

    def initialize(self, folder: Path, grader: GraderProcess) -> None:
        self.folder, self.grader = folder, grader

    @web.authenticated
    async def post(self) -> None:
        if len(self.request.body) > MAX_BYTES:
            raise web.HTTPError(413, "this notebook is too large to be looked at")
        asked = self.get_json_body() or {}
        path = inside(self.folder, str(asked.get("path", "")))
        lab = progress_of(asked.get("notebook", {}), path.relative_to(self.folder).as_posix(), marks_of(path))
        if lab is None:
            raise web.HTTPError(400, "this notebook is no lab of a course")
        if any(work.state != "untouched" for work in lab.work):
            await self.grader.begin(path)
        self.finish(lab.as_dict())


class MarkHandler(APIHandler):
    """POST {path}: the notebook, as it is saved, goes to the grader; {points, worth, words, page}.

    In a class it is handed in, once the student has agreed: {ask}, and with {path, agreed} {words, marked, page}.
    """

    def initialize(self, folder: Path, grader: GraderProcess) -> None:
        self.folder, self.grader = folder, grader

    @web.authenticated
    async def post(self) -> None:
        asked = self.get_json_body() or {}
        path = inside(self.folder, str(asked.get("path", "")))
        to = class_of(path, self.folder) if course_of(path) is None else None
        try:
            if to and not asked.get("agreed"):
                self.finish({"ask": ASK})
                return
            marked = await hand_in(to, path) if to else await self.grader.mark(path)
        except (NoGrader, NotHandedIn) as error:
            raise web.HTTPError(409, str(error)) from None
        self.finish(marked | {"page": path.relative_to(self.folder).as_posix()})


class PageHandler(JupyterHandler):
    """GET page/PATH: the feedback page of the notebook at this path."""

    def initialize(self, folder: Path, grader: GraderProcess) -> None:
        self.folder = folder

    @web.authenticated
    def get(self, path: str) -> None:
        page = page_path(inside(self.folder, path))
        if not page.exists():
            raise web.HTTPError(404, "this notebook has not been marked yet")
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:")
        self.finish(page.read_text(encoding="utf-8"))


def inside(folder: Path, path: str) -> Path:
    """The file at this path of the browser's. Raises a 404 where it lies outside of the folder."""
    found = (folder / path).resolve()
    if not found.is_relative_to(folder) or found == folder:
        raise web.HTTPError(404, "there is no such notebook")
    return found
