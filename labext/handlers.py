"""Request handlers for the browser extension: the student's progress, and marks."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import url_path_join
from tornado import web

from labext.class_labs import read_offered_courses
from labext.class_submission import ASK, SubmissionError, find_class, is_submitted, submit_notebook
from labext.feedback_page import PageHandler
from labext.grader_process import GraderProcess, GraderUnavailable
from labext.lab_page import LabPageHandler
from labext.workspace import Workspace
from labkit.lab_progress import WorkState
from labkit.mark_file import read_marks
from labkit.notebook_progress import GLOSSARY, START, parse_progress, read_progress, read_start_page
from labkit.untrusted_json import DAMAGED

MAX_BYTES = 20_000_000  # of a notebook sent by the browser
NOT_YOURS = "You can only mark your own copy of a lab: LAB/LAB.ipynb in JupyterLab's top folder."


def add_handlers(app: Any, workspace: Workspace) -> None:
    """Answer the browser's requests below /gradlab for this workspace."""
    reads = {"workspace": workspace}
    marks = {"workspace": workspace, "grader": GraderProcess(workspace.course)}
    routes: list[tuple[str, type[Any], dict[str, Any]]] = [
        ("course", CourseHandler, reads),
        ("state", StateHandler, marks),
        ("mark", MarkHandler, marks),
        ("progress", ProgressHandler, marks),
        ("cancel", CancelHandler, marks),
        ("solution", SolutionHandler, marks),
        ("own_mark", OwnMarkHandler, marks),
        ("quiz_key", QuizKeyHandler, marks),
        ("page/(.+)", PageHandler, reads),
        ("labs/([^/]+)", LabPageHandler, reads),
    ]
    base = url_path_join(app.settings["base_url"], "gradlab")
    app.add_handlers(".*$", [(url_path_join(base, path), kind, settings) for path, kind, settings in routes])


class CourseHandler(APIHandler):
    """GET: {title, about, pages, labs, courses, problem} for JupyterLab's folder.

    `pages` are the paths of the course's own pages. Each lab has `changed`, the time it was last saved. In a
    class, `courses` are the student's, and `problem` is why what they offer isn't known.
    """

    def initialize(self, workspace: Workspace) -> None:
        self.workspace = workspace

    @web.authenticated
    async def get(self) -> None:
        root = self.workspace.root
        offered = await asyncio.to_thread(read_offered_courses, self.workspace)
        labs = [lab for course in offered.courses for lab in course.labs]
        known = {lab["path"] for lab in labs}
        for lab in read_progress(root):
            with contextlib.suppress(*DAMAGED):  # a lab that can't be shown doesn't hide the others
                labs += [lab.as_dict()] if lab.path not in known else []
        page, folder = read_start_page(root), root
        if not page.title and len(offered.courses) == 1:
            page, folder = offered.courses[0].named_page, self.workspace.get_class_folder(offered.courses[0].name)
        answer = {
            "pages": _list_pages(root, folder),
            "labs": [lab | {"changed": _read_change_time(root / lab["path"])} for lab in labs],
            "courses": [course.as_dict() for course in offered.courses],
            "problem": offered.problem,
        }
        self.finish(asdict(page) | answer)


def _list_pages(root: Path, folder: Path) -> list[str]:
    """List the paths of the course's own pages in this folder."""
    return [(folder / name).relative_to(root).as_posix() for name in (START, GLOSSARY) if (folder / name).is_file()]


class StateHandler(APIHandler):
    """POST {path, notebook}: the progress in one lab as it is in the browser, perhaps unsaved.

    `grader` is whether the course here marks it: then the student works alone. `submitted`: whether a class has these
    answers.
    """

    def initialize(self, workspace: Workspace, grader: GraderProcess) -> None:
        self.workspace, self.grader = workspace, grader

    @web.authenticated
    async def post(self) -> None:
        """Reply with the progress. If the student's own copy has work in it, start the grader, which takes a while."""
        if len(self.request.body) > MAX_BYTES:
            raise web.HTTPError(413, "this notebook is too large")
        body = _read_request(self)
        root, name = self.workspace.root, str(body.get("path", ""))
        own_copy = self.workspace.find_own_copy(name)
        path = own_copy or self.workspace.resolve_path(name)
        if path is None:
            raise web.HTTPError(404, "there's no such notebook")
        try:
            lab = parse_progress(
                body.get("notebook", {}), path.relative_to(root).as_posix(), read_marks(own_copy) if own_copy else {}
            )
            data = lab.as_dict() if lab else None
        except DAMAGED:
            lab = data = None
        if lab is None or data is None:
            raise web.HTTPError(400, "this notebook isn't a lab")
        has_grader = own_copy is not None and self.workspace.has_grader(own_copy.stem)
        if has_grader and any(work.state is not WorkState.UNTOUCHED for work in lab.work):
            await self.grader.begin()
        target = None if own_copy is None or has_grader else find_class(own_copy, self.workspace)
        self.finish(data | {"grader": has_grader, "submitted": bool(target and is_submitted(target, body["notebook"]))})


class MarkHandler(APIHandler):
    """POST {path}: grade the saved notebook, and return {points, worth, words, page}.

    In a class, the first answer is {ask}. Once the student agrees, POST {path, agreed} submits the notebook and
    returns {words, marked, page}.
    """

    def initialize(self, workspace: Workspace, grader: GraderProcess) -> None:
        self.workspace, self.grader = workspace, grader

    @web.authenticated
    async def post(self) -> None:
        body = _read_request(self)
        path = self.workspace.find_own_copy(str(body.get("path", "")))
        if path is None:
            raise web.HTTPError(409, NOT_YOURS)
        target = None if self.workspace.has_grader(path.stem) else find_class(path, self.workspace)
        try:
            if target and not body.get("agreed"):
                self.finish({"ask": ASK})
                return
            result = await submit_notebook(target, path) if target else await self.grader.ask(path)
        except (GraderUnavailable, SubmissionError) as error:
            raise web.HTTPError(409, str(error)) from None
        self.finish(result | {"page": path.relative_to(self.workspace.root).as_posix()})


class ProgressHandler(APIHandler):
    """GET ?path: the step that this notebook's mark is at, {number, steps, exercise, cell}; empty if it hasn't begun.

    While another lab is marked, {after: its name}.
    """

    def initialize(self, workspace: Workspace, grader: GraderProcess) -> None:
        self.workspace, self.grader = workspace, grader

    @web.authenticated
    def get(self) -> None:
        path = self.workspace.find_own_copy(self.get_query_argument("path"))
        self.finish(self.grader.read_progress(path) if path else {})


class CancelHandler(APIHandler):
    """POST {path}: end this notebook's mark, or its wait for one."""

    def initialize(self, workspace: Workspace, grader: GraderProcess) -> None:
        self.workspace, self.grader = workspace, grader

    @web.authenticated
    async def post(self) -> None:
        path = self.workspace.find_own_copy(str(_read_request(self).get("path", "")))
        if path:
            self.grader.end_mark(path)
        self.finish({})


class OwnCopyHandler(APIHandler):
    """A request about the student's own copy, which the grader of its course answers. In a class, there's none."""

    def initialize(self, workspace: Workspace, grader: GraderProcess) -> None:
        self.workspace, self.grader = workspace, grader

    async def ask_grader(self, body: dict[str, Any], **request: Any) -> dict[str, Any]:
        """Return the grader's answer. Raises a 409 if the notebook isn't such a copy, or the grader refuses."""
        path = self.workspace.find_own_copy(str(body.get("path", "")))
        if path is None or not self.workspace.has_grader(path.stem):
            raise web.HTTPError(409, NOT_YOURS)
        try:
            return await self.grader.ask(path, **request)
        except GraderUnavailable as error:
            raise web.HTTPError(409, str(error)) from None


class SolutionHandler(OwnCopyHandler):
    """POST {path, exercise}: the worked solution, or a model answer as HTML: {solution}."""

    @web.authenticated
    async def post(self) -> None:
        body = _read_request(self)
        self.finish(await self.ask_grader(body, solution=str(body.get("exercise", ""))))


class OwnMarkHandler(OwnCopyHandler):
    """POST {path, exercise, points}: save the mark that a person who works alone gives to a written answer."""

    @web.authenticated
    async def post(self) -> None:
        body = _read_request(self)
        try:
            points = float(body.get("points", ""))
        except (TypeError, ValueError):
            raise web.HTTPError(400, "points isn't a number") from None
        self.finish(await self.ask_grader(body, own_mark=str(body.get("exercise", "")), points=points))


class QuizKeyHandler(OwnCopyHandler):
    """POST {path, exercise, question}: a question's {statements}."""

    @web.authenticated
    async def post(self) -> None:
        body = _read_request(self)
        quiz, question = str(body.get("exercise", "")), str(body.get("question", ""))
        self.finish(await self.ask_grader(body, quiz=quiz, question=question))


def _read_change_time(path: Path) -> float:
    """Return when this file was last saved, in seconds; 0 if it no longer exists."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _read_request(handler: APIHandler) -> dict[str, Any]:
    """Return the JSON object that the browser sent. Raises a 400 for anything else."""
    body = handler.get_json_body() or {}
    if not isinstance(body, dict):
        raise web.HTTPError(400, "the request isn't a JSON object")
    return body
