"""The requests that the exchange service answers, each for the user whose token it brings.

A token counts only in the Authorization header, never in a cookie or an address, so no web page can send a request in a
student's name. A course that the user isn't in is answered like one that doesn't exist.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from jupyterhub.services.auth import HubAuth, HubAuthenticated, UserNotAllowed
from tornado.web import Application, HTTPError, RequestHandler, stream_request_body

from autograder.base.event_log import record_event
from autograder.hub.exchange_folder import ExchangeFolder, LabUnsettledError, SubmissionRefused
from autograder.hub.exchange_health import HealthHandler
from autograder.hub.groups import get_student_group, get_teacher_group
from autograder.hub.submission_upload import SubmissionUpload
from labext.folder_archive import MAX_ARCHIVE

PIECE = 2**18
REASONS = {403: "no valid token of a user of this hub", 404: "there's no such course or lab", 413: "it's too large"}


class ExchangeHandler(HubAuthenticated, RequestHandler):  # type: ignore[misc]
    """A request of a user whose token the hub knows."""

    def initialize(self, hub_auth: HubAuth, courses: dict[str, ExchangeFolder]) -> None:
        self.hub_auth, self._courses = hub_auth, courses
        self.student, self.groups = "", frozenset[str]()

    async def prepare(self) -> None:
        match = HubAuth.auth_header_pat.fullmatch(self.request.headers.get("Authorization", ""))
        model = await self.hub_auth.user_for_token(match[1], sync=False) if match else None
        try:
            if not model or model.get("kind", "user") != "user" or not self.check_hub_user(model):
                raise HTTPError(403)
        except UserNotAllowed:
            raise HTTPError(403) from None
        self.student, self.groups = str(model["name"]), frozenset(map(str, model.get("groups", ())))

    def check_xsrf_cookie(self) -> None:
        """Check nothing, since no cookie counts here."""

    def set_default_headers(self) -> None:
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'none'")
        self.set_header("Cache-Control", "no-store")

    def list_courses(self) -> list[str]:
        """List the courses that the user is in."""
        return [
            name
            for name in self._courses
            if not self.groups.isdisjoint({get_student_group(name), get_teacher_group(name)})
        ]

    def open_course(self, course: str) -> ExchangeFolder:
        if course not in self.list_courses():
            raise HTTPError(404)
        return self._courses[course]

    def open_lab(self, course: str, lab: str) -> ExchangeFolder:
        """Return the exchange of the course, if it has released this lab."""
        exchange = self.open_course(course)
        if lab not in exchange.list_labs():
            raise HTTPError(404)
        return exchange

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Answer with a sentence instead of a page."""
        error = kwargs.get("exc_info", (None, None))[1]
        message = error.log_message % error.args if isinstance(error, HTTPError) and error.log_message else None
        self.finish({"problem": message or REASONS.get(status_code) or self._reason})


class CoursesHandler(ExchangeHandler):
    """GET: {courses}, the names of the user's own."""

    def get(self) -> None:
        self.finish({"courses": self.list_courses()})


class LabsHandler(ExchangeHandler):
    """GET: {labs, pages}, each with name and version; labs with when they are due for the user, or "".

    `pages` are the course's own.
    """

    def get(self, course: str) -> None:
        exchange = self.open_course(course)
        due = exchange.read_due_dates(self.student)
        labs = [
            {"name": lab, "version": exchange.compute_version(lab), "due": due.get(lab, "")}
            for lab in exchange.list_labs()
        ]
        pages = [{"name": page, "version": version} for page, version in exchange.list_course_pages().items()]
        self.finish({"labs": labs, "pages": pages})


class CoursePageHandler(ExchangeHandler):
    """GET: one of the course's own pages."""

    def get(self, course: str, name: str) -> None:
        exchange = self.open_course(course)
        if name not in exchange.list_course_pages():
            raise HTTPError(404)
        self.set_header("Content-Type", "application/octet-stream")  # no browser is meant to show it
        self.finish((exchange.pages / name).read_bytes())


class LabHandler(ExchangeHandler):
    """GET: the lab's archive."""

    async def get(self, course: str, lab: str) -> None:
        exchange = self.open_lab(course, lab)
        try:
            archive = await asyncio.to_thread(exchange.pack_lab, lab)
        except LabUnsettledError:
            raise HTTPError(503, f"{lab} is being released: try again in a minute") from None
        with archive:
            self.set_header("Content-Type", "application/x-tar")
            self.set_header("Content-Length", str(archive.seek(0, 2)))
            archive.seek(0)
            while piece := await asyncio.to_thread(archive.read, PIECE):
                self.write(piece)
                await self.flush()


@stream_request_body
class SubmissionsHandler(ExchangeHandler):
    """POST: an archive with the files of a submission. The answer is its receipt, once it's stored."""

    active: set[str] = set()  # noqa: RUF012 - shared: the students with an upload under way
    is_active = False
    upload: SubmissionUpload | None = None

    async def prepare(self) -> None:
        await super().prepare()
        if self.request.method != "POST":
            return
        lab = str(self.path_kwargs["lab"])
        exchange = self.open_lab(str(self.path_kwargs["course"]), lab)
        connection: Any = self.request.connection
        connection.set_max_body_size(MAX_ARCHIVE)
        if int(self.request.headers.get("Content-Length", "0")) > MAX_ARCHIVE:
            raise HTTPError(413)
        if self.student in self.active:
            raise HTTPError(429, "another submission of yours is under way: try again when it's done")
        self.active.add(self.student)
        self.is_active = True
        try:
            await asyncio.to_thread(exchange.refuse_excess, self.student, lab)
        except SubmissionRefused as error:
            record_event("refused submission", lab=lab, student=self.student, reason=str(error))
            raise HTTPError(409, "%s", error) from None
        self.upload = SubmissionUpload(exchange, self.student, lab)

    def data_received(self, chunk: bytes) -> None:
        if self.upload:
            self.upload.write(chunk)

    async def post(self, course: str, lab: str) -> None:
        assert self.upload is not None
        fields: dict[str, str | int] = {
            "course": course,
            "lab": lab,
            "student": self.student,
            "bytes": self.upload.size,
        }
        try:
            receipt = await asyncio.to_thread(self.upload.store)
        except SubmissionRefused as error:
            record_event("refused submission", **fields, reason=str(error))
            raise HTTPError(400, "%s", error) from None
        record_event("submission", **fields, receipt=receipt["timestamp"])
        self.finish(receipt)

    def on_finish(self) -> None:
        self._end_upload()

    def on_connection_close(self) -> None:
        super().on_connection_close()
        self._end_upload()

    def _end_upload(self) -> None:
        if self.is_active:
            self.active.discard(self.student)
        if self.upload:
            self.upload.remove()


class PagesHandler(ExchangeHandler):
    """GET: {pages}, the user's own for a lab."""

    async def get(self, course: str, lab: str) -> None:
        exchange = self.open_lab(course, lab)
        pages = await asyncio.to_thread(exchange.list_pages, self.student, lab)
        self.finish({"pages": [asdict(page) for page in pages]})


class OwnPageHandler(ExchangeHandler):
    """GET: a feedback page, if it belongs to a submission of the user's own."""

    async def get(self, course: str, lab: str, name: str) -> None:
        exchange = self.open_lab(course, lab)
        pages = await asyncio.to_thread(exchange.list_pages, self.student, lab)
        if name not in {page.name for page in pages}:
            raise HTTPError(404, "you have no such page")
        self.set_header("Content-Type", "application/octet-stream")  # no browser is meant to show it
        self.finish(await asyncio.to_thread(exchange.get_page_path(name).read_bytes))


class MissingHandler(ExchangeHandler):
    """Any other address."""

    async def prepare(self) -> None:
        await super().prepare()
        raise HTTPError(404)


def build_application(prefix: str, hub_auth: HubAuth, courses: dict[str, ExchangeFolder]) -> Application:
    """Build the service below this prefix, which ends with a slash."""
    lab = r"courses/(?P<course>[^/]+)/labs/(?P<lab>[^/]+)"
    routes: list[tuple[str, type[RequestHandler]]] = [
        (r"courses", CoursesHandler),
        (r"courses/(?P<course>[^/]+)/labs", LabsHandler),
        (r"courses/(?P<course>[^/]+)/pages/(?P<name>[^/]+)", CoursePageHandler),
        (lab, LabHandler),
        (rf"{lab}/submissions", SubmissionsHandler),
        (rf"{lab}/pages", PagesHandler),
        (rf"{lab}/pages/(?P<name>[0-9a-f]+)", OwnPageHandler),
    ]
    settings = {"hub_auth": hub_auth, "courses": courses}
    return Application(
        [
            (f"{prefix}health", HealthHandler, {"courses": courses}),
            *((prefix + path, kind, settings) for path, kind in routes),
        ],
        default_handler_class=MissingHandler,
        default_handler_args=settings,
    )
