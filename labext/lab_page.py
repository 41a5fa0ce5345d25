"""/gradlab/labs/LAB: opens a lab's notebook. A lab that isn't there yet is fetched from the class's exchange first.

The course's home fetches labs here. A link of a learning management system leads here, too.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from datetime import datetime
from urllib.parse import quote

from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from tornado import web

from labext.nbgrader_exchange import ExchangeFailure, open_exchange, run_exchange
from labext.served_pages import refuse_parts_of_pages
from labext.workspace import Workspace

NAME = re.compile(r"\w[\w. -]*")


class LabFetchError(Exception):
    """Why a lab can't be fetched, in nbgrader's words."""


class LabPageHandler(JupyterHandler):
    """A lab, with `course` if the user is in several.

    GET redirects to the notebook. POST {renew} returns its {path}, and with `renew`, gets the present version first.
    """

    lock = asyncio.Lock()

    def initialize(self, workspace: Workspace) -> None:
        self.workspace = workspace

    @web.authenticated
    async def get(self, lab: str) -> None:
        refuse_parts_of_pages(self)
        try:
            path = await self._find_notebook(lab)
        except LabFetchError as error:
            self._report(str(error))
            return
        # Notebook 7 shows a notebook as a page of its own.
        view = "notebooks" if self.settings["default_url"].startswith(f"{self.base_url}tree") else "lab/tree"
        self.redirect(url_path_join(self.base_url, view, quote(path)))

    @web.authenticated
    async def post(self, lab: str) -> None:
        body = self.get_json_body()
        try:
            path = await self._find_notebook(lab, isinstance(body, dict) and body.get("renew") is True)
        except LabFetchError as error:
            self.set_status(409)
            self.finish({"message": f"{error}."})
            return
        self.finish({"path": path})

    async def _find_notebook(self, lab: str, renew: bool = False) -> str:
        """Return the notebook's path, relative to the root. Raises LabFetchError if it can't be fetched."""
        course = self.get_argument("course", "") or self.workspace.course_id
        if not all(NAME.fullmatch(name) for name in (lab, course or "none")):
            raise web.HTTPError(404, "there's no such lab")
        folder = self.workspace.get_class_folder(course) / lab
        notebook = folder / f"{lab}.ipynb"
        async with self.lock:  # a second click waits for the first one's copy
            if renew or not notebook.is_file():
                await asyncio.to_thread(replace_lab if renew else fetch_lab, self.workspace, course, lab)
        if not notebook.is_file():
            raise LabFetchError(f"{lab} has no notebook of that name")
        return notebook.relative_to(self.workspace.root).as_posix()

    def _report(self, problem: str) -> None:
        """Show why there is no notebook. Jupyter's own page for this status shows no message."""
        self.set_status(404)
        values = {"status_code": 404, "status_message": "Not Found", "message": f"{problem}."}
        self.finish(self.render_template("error.html", **values))


def replace_lab(workspace: Workspace, course: str, lab: str) -> None:
    """Fetch the present version of a lab. The student's folder is kept under another name.

    Raises LabFetchError if it can't be fetched. Then the folder has its name again.
    """
    folder = workspace.get_class_folder(course) / lab
    kept = folder.with_name(f"{lab} until {datetime.now():%Y-%m-%d %H.%M.%S}")
    try:
        folder.rename(kept)
    except OSError as error:
        raise LabFetchError(f"{folder.name} can't be renamed: {error.strerror}") from None
    try:
        fetch_lab(workspace, course, lab)
    except LabFetchError:
        shutil.rmtree(folder, ignore_errors=True)
        kept.rename(folder)
        raise


def fetch_lab(workspace: Workspace, course: str, lab: str) -> None:
    """Fetch a lab as `nbgrader fetch_assignment` does, or what is missing of it. Raises LabFetchError if it can't be.

    Files that are there stay unchanged.
    """
    if open_exchange(workspace) is None:
        raise LabFetchError(f"{lab} isn't in this folder")
    if not course:
        raise LabFetchError(f"{lab} isn't in this folder, and this server belongs to no class or to several")
    try:
        run_exchange("fetch_assignment", workspace, course, lab)
    except ExchangeFailure as error:
        is_missing = str(error).startswith("Assignment not found")
        raise LabFetchError(f"{lab} isn't released yet" if is_missing else str(error)) from None
    except OSError as error:
        raise LabFetchError(f"{lab} can't be stored: {error.strerror}") from None
