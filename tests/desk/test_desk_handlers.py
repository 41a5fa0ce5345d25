"""The desk inside a real Jupyter server with its own base URL: access, refusals, and what is written.

Slow: starts a Jupyter server.
"""

import json
import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook

from tests.desk.answered_class import LAB, QUESTION
from tests.lab_server import DIRECT, LabServer, run_lab_server

pytestmark = pytest.mark.slow
PLACE = {"lab": LAB, "notebook": LAB, "cell": QUESTION}
BASE = "/user/grace/"


@dataclass
class Client:
    server: LabServer

    def ask(self, path: str, body: Any = None, token: bool = True, **headers: str) -> tuple[int, str, dict[str, str]]:
        """(status, text, headers)."""
        address = f"{self.server.url}gradlab/desk{path}"
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent_headers = {"Authorization": f"token {self.server.token}"} if token else {}
        try:
            with DIRECT.open(urllib.request.Request(address, data, {**sent_headers, **headers})) as reply:
                return reply.status, reply.read().decode(), dict(reply.headers)
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), dict(error.headers)

    def read_state(self) -> Any:
        """The data that the page passes to its script."""
        _, page, _ = self.ask(f"/read/{LAB}/{LAB}/{QUESTION}")
        match = re.search(r'<script type="application/json" id="state">(.*)</script>', page)
        assert match
        return json.loads(match[1])


@pytest.fixture(scope="module")
def client(waiting_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server as a JupyterHub starts one, 4 s."""
    course = shutil.copytree(waiting_course, tmp_path_factory.mktemp("served") / "course")
    options = ["--ServerApp.ip=127.0.0.1", f"--ServerApp.root_dir={course}", f"--ServerApp.base_url={BASE}"]
    extension = "--ServerApp.jpserver_extensions=autograder.desk=True"
    home = tmp_path_factory.mktemp("home")
    with run_lab_server(
        course, home, start=("jupyter_server",), options=(*options, "--ServerApp.port=0", extension)
    ) as server:
        yield Client(server)


PAGES = ("", "/", f"/read/{LAB}/{LAB}/{QUESTION}")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_html_that_is_not_cached(client: Client, path: str) -> None:
    status, _, headers = client.ask(path)
    assert status == 200
    assert headers["Content-Type"].startswith("text/html")
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_nothing_from_elsewhere(client: Client, path: str) -> None:
    _, page, headers = client.ask(path)
    policy = headers["Content-Security-Policy"]
    assert "frame-ancestors 'self'" in policy
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
    links = re.findall(r'(?:href|src)="([^"]+)"', page)
    assert all(link.startswith((f"{BASE}gradlab/desk/", "data:,")) for link in links)


def test_scripts_and_styles_are_served(client: Client) -> None:
    assert client.ask("/static/desk.js")[2]["Content-Type"] == "text/javascript; charset=utf-8"
    assert "--gl-ink" in client.ask("/static/tokens.css")[1]
    sheets = re.findall(r'<link rel="stylesheet" href="[^"]*gradlab/desk(/[^"]+)"', client.ask("/")[1])
    assert len(sheets) > 5
    for sheet in sheets:
        status, _, headers = client.ask(sheet)
        assert (status, headers["Content-Type"]) == (200, "text/css; charset=utf-8"), sheet


def test_a_user_who_is_not_logged_in_sees_and_writes_nothing(client: Client) -> None:
    for path, secret in (("/", "sum_of_squares"), (f"/read/{LAB}/{LAB}/{QUESTION}", 'id="state"')):
        assert secret in client.ask(path)[1]
        assert secret not in client.ask(path, token=False)[1]
    for path in ("/mark", "/rubric"):
        assert client.ask(path, {**PLACE, "student": "ada", "version": ""}, token=False)[0] == 403


def test_a_browser_that_is_logged_in_must_bring_the_pages_own_token(client: Client) -> None:
    status, _, headers = client.ask(f"/read/{LAB}/{LAB}/{QUESTION}?token={client.server.token}", token=False)
    assert status == 200
    cookies = "; ".join(
        each.split(";")[0] for each in headers.get("Set-Cookie", "").split(", ") if "=" in each.split(";")[0]
    )
    body = {**PLACE, "student": "ada", "version": "", "points": 1}
    assert client.ask("/mark", body, token=False, Cookie=cookies)[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        f"/read/{LAB}/{LAB}/nothing",
        f"/read/..%2F..%2Fetc/{LAB}/passwd",
        f"/read/{LAB}/..%2Fx/{QUESTION}",
        "/static/x.js",
        "/static/..%2Fhtml_pages.py",
    ],
)
def test_names_that_the_gradebook_does_not_know_are_not_found(client: Client, path: str) -> None:
    assert client.ask(path)[0] == 404


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"student": "../ada"}, 404, "no such student"),
        ({"points": 3.5}, 400, "at most 3 points"),
        ({"points": -1}, 400, "points"),
        ({"comment": "x" * 10_001}, 400, "comment"),
        ({"comment": "x" * 600_000}, 413, "too long"),
        ({"chosen": ["00000001"] * 51}, 400, "chosen"),
        ({"unknown": 1}, 400, "unknown"),
    ],
)
def test_an_invalid_mark_is_refused_with_a_message(
    client: Client, change: dict[str, Any], status: int, words: str
) -> None:
    version = client.read_state()["marks"]["dan"]["version"]
    mark = {**PLACE, "student": "dan", "version": version, "points": 1, **change}
    code, text, headers = client.ask("/mark", mark)
    assert code == status
    assert words in json.loads(text)["message"]
    assert headers["Content-Type"] == "application/json"
    assert client.read_state()["marks"]["dan"]["points"] is None


def test_items_and_marks_are_saved_and_a_second_instructor_is_warned(client: Client) -> None:
    items = [{"id": "", "text": "right", "points": 3}, {"id": "", "text": "half", "points": 1.5}]
    first = client.read_state()
    _, text, _ = client.ask("/rubric", {**PLACE, "items": items, "version": first["rubric"]["version"]})
    rubric = json.loads(text)["rubric"]
    assert client.ask("/rubric", {**PLACE, "items": [], "version": first["rubric"]["version"]})[0] == 400

    half = [rubric["items"][1]["id"]]
    mark = {**PLACE, "student": "ada", "version": first["marks"]["ada"]["version"], "comment": "Say why."}
    _, text, _ = client.ask("/mark", {**mark, "chosen": half})
    ada = json.loads(text)["marks"]["ada"]
    assert (ada["told"], ada["giver"]) == ("1.5 of 3", "marked just now"), "without a hub, no name is made up"
    _, text, _ = client.ask("/mark", {**mark, "points": 3})
    reply = json.loads(text)
    assert "meanwhile" in reply["changed"]
    assert reply["marks"]["ada"]["points"] == 1.5
    _, text, _ = client.ask("/mark", {**mark, "points": 3, "version": reply["marks"]["ada"]["version"]})
    assert json.loads(text)["marks"]["ada"]["points"] == 3
    with Gradebook(f"sqlite:///{client.server.folder}/gradebook.db") as gradebook:
        grade = gradebook.find_grade(QUESTION, LAB, LAB, "ada")
        assert (grade.manual_score, grade.needs_manual_grade) == (3, False)
        assert gradebook.find_comment(QUESTION, LAB, LAB, "ada").manual_comment == "Say why."
