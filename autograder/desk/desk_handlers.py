"""Serves the desk's pages and requests below BASE_URL/gradlab/desk. Users of the Jupyter server may read and mark.

Names in addresses and bodies are looked up in the gradebook before they're used in a path.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from jupyter_server.auth.decorator import allow_unauthenticated, authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import url_path_join
from pydantic import ValidationError
from tornado import web

from autograder.base.errors import GradlabError
from autograder.base.text import pluralize
from autograder.desk import html_pages, marks, question_page
from autograder.desk.base_handler import BaseHandler
from autograder.desk.course_desk import Desk, find_address
from autograder.desk.mark_log import read_given_marks
from autograder.desk.requests import MarkRequest, RubricRequest
from autograder.desk.rubric import Item, make_id
from autograder.desk.status_handler import StatusHandler
from autograder.gradebook.cell_address import CellAddress
from autograder.reports.page_templates import STYLES

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

MAX_BODY = 500_000  # bytes
STATIC = files("autograder.desk").joinpath("static")
SHARED = {  # what the desk's pages have in common with all pages
    **{f"{name}.css": STYLES.joinpath(f"{name}.css") for name in ("tokens", "controls", "states", "code")},
    "page.css": files("autograder.reports").joinpath("templates/page.css"),
}
TYPES = {".js": "text/javascript", ".css": "text/css"}


def add_handlers(server: Any) -> None:
    """Add the desk's handlers. Without c.GradlabDesk.course, the course is the server's root or the current folder."""
    base = server.web_app.settings["base_url"]
    root = Path(server.contents_manager.root_dir or ".")
    course = server.config.get("GradlabDesk", {}).get("course")
    arguments = {"folders": (Path(course),) if course else (root, Path.cwd())}
    name = "([^/]+)"
    routes: dict[str, type[Any]] = {
        "": OverviewHandler,
        "/": OverviewHandler,
        "/status": StatusHandler,
        f"/read/{name}/{name}/{name}": QuestionHandler,
        "/mark": SaveHandler,
        "/rubric": RubricHandler,
        "/static/([a-z]+[.](?:js|css))": AssetHandler,
    }
    prefix = url_path_join(base, "gradlab", "desk")
    server.web_app.add_handlers(".*$", [(prefix + path, kind, arguments) for path, kind in routes.items()])


class OverviewHandler(BaseHandler):
    """GET: the labs' questions, with the number of answers that wait."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        try:
            labs, titles = await self.run_with_gradebook(question_page.list_questions)
            page = html_pages.render_overview(self.desk_url, labs, titles)
        except web.HTTPError as error:
            self.set_status(error.status_code)
            page = html_pages.render_overview(self.desk_url, {}, {}, error.log_message or "")
        self.finish(page)


class QuestionHandler(BaseHandler):
    """GET read/LAB/NOTEBOOK/CELL: a question with all answers."""

    @web.authenticated
    @authorized
    async def get(self, *names: str) -> None:
        lab, notebook, cell = map(unquote, names)
        xsrf = self.xsrf_token.decode()

        def render_page(desk: Desk, gradebook: Gradebook) -> str:
            address = find_address(desk, gradebook, lab, notebook, cell)
            return html_pages.render_question(self.desk_url, question_page.build_page(desk, gradebook, address), xsrf)

        self.finish(await self.run_with_gradebook(render_page))


class AssetHandler(BaseHandler):
    """GET static/NAME: a script or a style sheet, for anyone.

    A browser asks for a module without saying where from, so a JupyterHub would send it to its login.
    """

    @allow_unauthenticated
    def get(self, name: str) -> None:
        asset = SHARED.get(name) or STATIC.joinpath(name)
        if not asset.is_file():
            raise web.HTTPError(404)
        self.set_header("Content-Type", f"{TYPES[Path(name).suffix]}; charset=utf-8")
        self.set_header("Cache-Control", "no-cache")
        self.finish(asset.read_bytes())


class WriteHandler(BaseHandler, APIHandler):
    """The base of handlers that write."""

    def parse_body(self, kind: type[Any]) -> Any:
        """Parse the body, which has a bounded size and known fields."""
        if len(self.request.body) > MAX_BODY:
            raise web.HTTPError(413, "this is too long to be saved")
        try:
            return kind.model_validate_json(self.request.body)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"]))
            raise web.HTTPError(400, f"this can't be saved: {field}: {first['msg']}") from None


class SaveHandler(WriteHandler):
    """POST MarkRequest: returns the current {marks}; if someone else's change prevented saving, `changed` says so."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Save the mark, unless someone else changed it, and return the marks of all students either way."""
        request: MarkRequest = self.parse_body(MarkRequest)
        person = self.person

        def save(desk: Desk, gradebook: Gradebook) -> dict[str, Any]:
            address = find_address(desk, gradebook, request.lab, request.notebook, request.cell)
            if request.points is not None and request.points > address.worth:
                most = f"{address.worth:g} {pluralize('point', address.worth)}"
                raise GradlabError(f"at most {most}; give extra credit in the formgrader")
            mark = marks.DeskMark(request.points, address.worth, comment=request.comment, chosen=request.chosen)
            conflict = {}
            try:
                marks.save_mark(desk, gradebook, address, request.student, mark, request.version, person)
            except marks.ConflictError as error:
                gradebook.db.rollback()
                conflict = {"changed": str(error)}
            return {"marks": _read_marks(desk, gradebook, address), **conflict}

        self.finish(await self.run_with_gradebook(save))


class RubricHandler(WriteHandler):
    """POST RubricRequest: returns the current {rubric, marks}.

    If marks would change and the request isn't `sure`, nothing is saved, and `changes` is their number.
    """

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Replace the rubric's items, or only count the marks that would change if the request isn't `sure`."""
        request: RubricRequest = self.parse_body(RubricRequest)
        items, person = tuple(_parse_item(data) for data in request.items), self.person

        def save(desk: Desk, gradebook: Gradebook) -> dict[str, Any]:
            address = find_address(desk, gradebook, request.lab, request.notebook, request.cell)
            changes = []

            def confirm_changes(number: int) -> bool:
                changes.append(number)
                return request.sure

            try:
                is_saved = marks.change_items(desk, gradebook, address, items, request.version, confirm_changes, person)
            except marks.ConflictError as error:
                raise GradlabError(str(error)) from None
            rubric = html_pages.encode_rubric(marks.read_rubric(desk, address))
            state = {"rubric": rubric, "marks": _read_marks(desk, gradebook, address)}
            return state if is_saved else state | {"changes": changes[0]}

        self.finish(await self.run_with_gradebook(save))


def _parse_item(data: dict[str, Any]) -> Item:
    try:
        return Item.model_validate({**data, "id": data.get("id") or make_id()})
    except ValidationError as error:
        first = error.errors()[0]
        raise web.HTTPError(400, f"an item can't be saved: {first['loc'][0]}: {first['msg']}") from None


def _read_marks(desk: Desk, gradebook: Gradebook, address: CellAddress) -> dict[str, Any]:
    given = read_given_marks(desk.course, address.lab, address.key)
    current = marks.read_marks(gradebook, address, marks.read_rubric(desk, address))
    return html_pages.encode_marks(current, given, address)
