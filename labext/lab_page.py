"""GET /gradlab/labs/LAB: opens a lab's notebook. A lab that isn't there yet is fetched from the class's exchange first.

A link of a learning management system leads here, and so can any other page that knows a lab's name.
"""

from __future__ import annotations

import asyncio
import copy
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from tornado import web

from labext.served_pages import refuse_parts_of_pages
from labext.workspace import Workspace

NAME = re.compile(r"\w[\w. -]*")


class LabFetchError(Exception):
    """Why a lab can't be fetched, in nbgrader's words."""


class LabPageHandler(JupyterHandler):
    """GET labs/LAB, with `course` if the user is in several: redirects to the notebook."""

    lock = asyncio.Lock()

    def initialize(self, workspace: Workspace) -> None:
        self.workspace = workspace

    @web.authenticated
    async def get(self, lab: str) -> None:
        refuse_parts_of_pages(self)
        course = self.get_argument("course", "") or str(self.workspace.config.CourseDirectory.get("course_id", ""))
        if not all(NAME.fullmatch(name) for name in (lab, course or "none")):
            raise web.HTTPError(404, "there's no such lab")
        notebook = find_lab_folder(self.workspace, course, lab) / f"{lab}.ipynb"
        async with self.lock:  # a second click waits for the first one's copy
            if not notebook.is_file():
                try:
                    await asyncio.to_thread(fetch_lab, self.workspace, course, lab)
                except LabFetchError as error:
                    self._report(str(error))
                    return
        if not notebook.is_file():
            self._report(f"{lab} has no notebook of that name")
            return
        # Notebook 7 shows a notebook as a page of its own.
        view = "notebooks" if self.settings["default_url"].startswith(f"{self.base_url}tree") else "lab/tree"
        self.redirect(url_path_join(self.base_url, view, quote(notebook.relative_to(self.workspace.root).as_posix())))

    def _report(self, problem: str) -> None:
        """Show why there is no notebook. Jupyter's own page for this status shows no message."""
        self.set_status(404)
        values = {"status_code": 404, "status_message": "Not Found", "message": f"{problem}."}
        self.finish(self.render_template("error.html", **values))


def find_lab_folder(workspace: Workspace, course: str, lab: str) -> Path:
    """Return where nbgrader puts this lab."""
    if workspace.config.Exchange.get("path_includes_course", False):
        return workspace.root / course / lab
    return workspace.root / lab


def fetch_lab(workspace: Workspace, course: str, lab: str) -> None:
    """Fetch a lab as `nbgrader fetch_assignment` does, or what is missing of it. Raises LabFetchError if it can't be.

    Files that are there stay unchanged.
    """
    try:
        from nbgrader.auth import Authenticator
        from nbgrader.coursedir import CourseDirectory
        from nbgrader.exchange import ExchangeError, ExchangeFactory
    except ImportError:  # a student at home may have only labkit
        raise LabFetchError(f"{lab} isn't in this folder") from None
    if not course:
        raise LabFetchError(f"{lab} isn't in this folder, and this server belongs to no class or to several")
    config: Any = copy.deepcopy(workspace.config)
    config.CourseDirectory.course_id, config.CourseDirectory.assignment_id = course, lab
    config.Exchange.assignment_dir = str(workspace.root)
    config.ExchangeFetchAssignment.replace_missing_files = True
    kind = ExchangeFactory(config=config).fetch_assignment
    try:
        kind(
            coursedir=CourseDirectory(config=config), authenticator=Authenticator(config=config), config=config
        ).start()
    except ExchangeError as error:
        is_missing = str(error).startswith("Assignment not found")
        raise LabFetchError(f"{lab} isn't released yet" if is_missing else str(error)) from None
    except OSError as error:
        raise LabFetchError(f"{lab} can't be stored: {error.strerror}") from None
