"""Requests to a class's exchange on a JupyterHub, with the token of the student's own server."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO, Any, BinaryIO
from urllib.parse import quote

from labext.folder_archive import MAX_ARCHIVE, ArchiveError, pack_folder, unpack_archive

URL = "GRADLAB_EXCHANGE"  # environment variables of a student's server
TOKEN = "JUPYTERHUB_API_TOKEN"
TIMEOUT = 300.0  # seconds without a byte
MAX_ANSWER = 10_000_000  # bytes of a JSON answer or a page
PIECE = 2**20


class ExchangeRefusal(Exception):
    """What the exchange answered instead of doing what was asked, or why it can't be reached."""


@dataclass(frozen=True)
class Receipt:
    """The exchange's answer to a submission, which is stored by then."""

    student: str
    timestamp: str
    secret: str


@dataclass(frozen=True)
class PageEntry:
    """A feedback page of the student's own."""

    lab: str
    name: str
    """As nbgrader names the file, without its suffix."""
    changed: int
    """When it was written, in nanoseconds."""
    size: int


@dataclass(frozen=True)
class CourseNews:
    """What a course shows a student besides its labs."""

    pages: dict[str, str]
    """The version of each of the course's own pages."""
    due: dict[str, str]
    """When each released lab is due for the student, as an ISO time; empty if it has no due date."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, which could lead the token elsewhere."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


@dataclass(frozen=True)
class ExchangeClient:
    """The exchange as one student may use it."""

    url: str
    token: str

    def list_courses(self) -> list[str]:
        return [str(course) for course in self._ask("courses")["courses"]]

    def list_labs(self, course: str) -> dict[str, str]:
        """Return the version of each released lab."""
        return {str(lab["name"]): str(lab["version"]) for lab in self._ask(_join("courses", course, "labs"))["labs"]}

    def read_course(self, course: str) -> CourseNews:
        answer = self._ask(_join("courses", course, "labs"))
        pages = {str(page["name"]): str(page["version"]) for page in answer.get("pages", ())}
        return CourseNews(pages, {str(lab["name"]): str(lab.get("due", "")) for lab in answer["labs"]})

    def fetch_course_page(self, course: str, name: str) -> bytes:
        with self._open(_join("courses", course, "pages", name)) as answer:
            return answer.read(MAX_ANSWER)

    def fetch_lab(self, course: str, lab: str, folder: Path) -> None:
        """Write a released lab to this new folder."""
        with self._open(_join("courses", course, "labs", lab)) as answer, tempfile.TemporaryFile() as archive:
            size = 0
            while piece := answer.read(PIECE):
                size += len(piece)
                if size > MAX_ARCHIVE:
                    raise ExchangeRefusal(f"{lab} is larger than the exchange may send")
                archive.write(piece)
            archive.seek(0)
            try:
                unpack_archive(archive, folder)
            except ArchiveError as error:
                raise ExchangeRefusal(f"the exchange's copy of {lab} can't be used: {error}") from None

    def submit_folder(self, course: str, lab: str, folder: Path) -> Receipt:
        """Submit the files in this folder. Returns once the exchange has stored them."""
        with tempfile.TemporaryFile() as archive:
            try:
                pack_folder(folder, archive)
            except ArchiveError as error:
                raise ExchangeRefusal(str(error)) from None
            size = archive.tell()
            if size > MAX_ARCHIVE:
                raise ExchangeRefusal(f"the lab's folder has {size:,} bytes; at most {MAX_ARCHIVE:,} can be submitted")
            archive.seek(0)
            return Receipt(**self._ask(_join("courses", course, "labs", lab, "submissions"), archive, size))

    def list_pages(self, course: str, lab: str) -> list[PageEntry]:
        """Return the student's own feedback pages for this lab."""
        return [PageEntry(**page) for page in self._ask(_join("courses", course, "labs", lab, "pages"))["pages"]]

    def fetch_page(self, course: str, page: PageEntry) -> bytes:
        with self._open(_join("courses", course, "labs", page.lab, "pages", page.name)) as answer:
            return answer.read(MAX_ANSWER)

    def _ask(self, path: str, body: BinaryIO | None = None, size: int = 0) -> Any:
        with self._open(path, body, size) as answer:
            return json.loads(answer.read(MAX_ANSWER))

    @contextlib.contextmanager
    def _open(self, path: str, body: BinaryIO | None = None, size: int = 0) -> Iterator[HTTPResponse]:
        headers = {"Authorization": f"token {self.token}"}
        if body is not None:
            headers |= {"Content-Type": "application/x-tar", "Content-Length": str(size)}
        request = urllib.request.Request(f"{self.url.rstrip('/')}/{path}", body, headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)
        try:
            with opener.open(request, timeout=TIMEOUT) as answer:
                yield answer
        except urllib.error.HTTPError as error:
            raise ExchangeRefusal(_read_problem(error)) from None
        except (OSError, HTTPException, ValueError) as error:
            raise ExchangeRefusal(f"the exchange can't be reached ({error}). Try again in a minute") from None


def connect_exchange() -> ExchangeClient:
    """Connect as the student whose server this is. Raises ExchangeRefusal if it belongs to no class."""
    url, token = os.environ.get(URL), os.environ.get(TOKEN)
    if not (url and token):
        raise ExchangeRefusal("this server belongs to no class: start it from your class's JupyterHub")
    return ExchangeClient(url, token)


def _join(*parts: str) -> str:
    return "/".join(quote(part, safe="") for part in parts)


def _read_problem(error: urllib.error.HTTPError) -> str:
    """Return the exchange's own words, or the status if something else answered."""
    try:
        return str(json.loads(error.read(MAX_ANSWER))["problem"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return f"the exchange answered {error.code} {error.reason}"
