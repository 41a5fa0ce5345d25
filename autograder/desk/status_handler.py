"""Serves the desk's page about the class's parts: whether they run, and what waits."""

from __future__ import annotations

import asyncio

from jupyter_server.auth.decorator import authorized
from tornado import web

from autograder.base.errors import GradlabError
from autograder.desk import html_pages
from autograder.desk.base_handler import BaseHandler
from autograder.desk.class_status import read_status
from autograder.desk.course_desk import find_course


class StatusHandler(BaseHandler):
    """GET status: the page. It reads no gradebook, which another program may hold."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        try:
            lines = await asyncio.to_thread(lambda: read_status(find_course(*self.folders)))
        except GradlabError as error:
            raise web.HTTPError(400, str(error)) from None
        self.finish(html_pages.render_status(self.desk_url, lines))
