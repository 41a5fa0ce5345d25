"""Whether the exchange takes submissions, for a monitoring system."""

from __future__ import annotations

import asyncio

from tornado.web import RequestHandler

from autograder.hub.exchange_folder import ExchangeFolder

HEALTHY = "ok"


class HealthHandler(RequestHandler):
    """GET: {status}, for anyone: "ok", or with a status of 503 why no one can submit."""

    def initialize(self, courses: dict[str, ExchangeFolder]) -> None:
        self._courses = courses

    async def get(self) -> None:
        self.set_header("Cache-Control", "no-store")
        try:
            states = [await asyncio.to_thread(course.is_full) for course in self._courses.values()]
            status = "the disk is full" if any(states) else HEALTHY
        except OSError:
            status = "the folder of submissions can't be read"
        self.set_status(200 if status == HEALTHY else 503)
        self.finish({"status": status})
