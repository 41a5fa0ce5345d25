"""What all handlers of the desk share: the course, who asks, and what a browser may load."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from jupyter_server.auth.identity import User
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from tornado import web

from autograder.base.errors import GradlabError
from autograder.desk.course_desk import Desk, UnknownNameError, find_course, open_desk
from autograder.gradebook.database import open_gradebook

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'"
)
T = TypeVar("T")


class BaseHandler(JupyterHandler):
    """The base of all handlers. The course is in one of its `folders`."""

    auth_resource = "gradlab_desk"

    def initialize(self, folders: tuple[Path, ...]) -> None:
        self.folders = folders

    @property
    def desk_url(self) -> str:
        """The address of the desk's pages."""
        return str(url_path_join(self.base_url, "gradlab", "desk"))

    @property
    def content_security_policy(self) -> str:
        return f"{JupyterHandler.content_security_policy.fget(self)}; {POLICY}"  # type: ignore[attr-defined]

    def set_default_headers(self) -> None:
        super().set_default_headers()
        self.set_header("Cache-Control", "no-store")  # students' answers, and marks that change

    @property
    def person(self) -> str:
        """The user's name on a JupyterHub; empty without one, since Jupyter then makes up a name."""
        on_hub = hasattr(self.identity_provider, "hub_auth")
        return self.current_user.username if on_hub and isinstance(self.current_user, User) else ""

    async def run_with_gradebook(self, action: Callable[[Desk, Any], T]) -> T:
        """Run the action in a thread, since another program may hold the gradebook for a while.

        Errors become HTTP errors.
        """

        def run() -> T:
            desk = open_desk(find_course(*self.folders))
            with open_gradebook(desk.db_url, desk.course_id) as gradebook:
                return action(desk, gradebook)

        try:
            return await asyncio.to_thread(run)
        except UnknownNameError as error:
            raise web.HTTPError(404, str(error)) from None
        except GradlabError as error:
            raise web.HTTPError(400, str(error)) from None
