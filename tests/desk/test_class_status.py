"""The desk's page about the class's parts says what runs, what waits and what a person has to look at."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from autograder.desk import EXCHANGE_HEALTH, class_status
from autograder.desk.class_status import ATTENTION, BAD, GOOD, LATE_SECONDS, StatusLine, read_status
from autograder.desk.html_pages import render_status
from autograder.watch.watch_presence import WatchPresence, WatchSigns
from autograder.watch.watch_queue import WatchQueue
from tests.watch.watched_exchange import ONE, add_exchange, submit

NOW = datetime(2027, 2, 1, 12)
EMPTY = WatchQueue(0, None, 0, None)
LATE = timedelta(seconds=LATE_SECONDS + 1)


@contextmanager
def serve_health(status: int, body: bytes) -> Iterator[str]:
    """An exchange that answers this."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Print nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/health"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("status", "body", "line"),
    [
        (200, b"{}", StatusLine("Exchange", GOOD, "runs")),
        (
            503,
            json.dumps({"status": "the disk is full"}).encode(),
            StatusLine("Exchange", BAD, "no one can submit: the disk is full"),
        ),
        (502, b"<html>", StatusLine("Exchange", BAD, "no one can submit: it answers with the status 502")),
    ],
)
def test_the_exchange_says_how_it_is(
    small_course: Path, monkeypatch: pytest.MonkeyPatch, status: int, body: bytes, line: StatusLine
) -> None:
    with serve_health(status, body) as url:
        monkeypatch.setenv(EXCHANGE_HEALTH, url)
        assert read_status(small_course)[0] == line
    assert read_status(small_course)[0].words == "doesn't answer, so no one can fetch or submit a lab"


def test_a_course_without_an_exchange_shows_its_disk(small_course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(EXCHANGE_HEALTH, raising=False)
    lines = {line.part: line for line in read_status(small_course)}
    assert set(lines) == {"Submissions", "Disk"}
    assert lines["Disk"].words.endswith("GB free for the course")


def test_submissions_that_no_watch_marks_are_a_problem(small_course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(EXCHANGE_HEALTH, raising=False)
    course = add_exchange(small_course)
    assert read_status(course)[0] == StatusLine("Watch", ATTENTION, "hasn't run yet")
    submit(course, "ada", ONE)
    presence = WatchPresence(course)
    presence.record_look()
    presence.close()
    lines = {line.part: line for line in read_status(course)}
    assert lines["Watch"] == StatusLine("Watch", BAD, "doesn't run; it last looked just now")
    assert lines["Waiting"].sign == ATTENTION and lines["Waiting"].words.startswith(
        "1 submission, the first submitted "
    )
    assert lines["Last mark"].words == "none yet"
    assert lines["Disk"].words.endswith("GB free for the course and the exchange")
    page = render_status("/d", list(lines.values()))
    assert "Problem: doesn&#39;t run" in page or "Problem: doesn't run" in page


@pytest.mark.parametrize(
    ("age", "sign", "words"),
    [
        (timedelta(seconds=5), GOOD, "runs"),
        (timedelta(minutes=3), BAD, "runs, but last looked for submissions 3 minutes ago"),
    ],
)
def test_a_watch_that_no_longer_looks_is_a_problem(age: timedelta, sign: str, words: str) -> None:
    line = class_status.check_watch(WatchSigns(True, NOW - age), EMPTY, NOW)
    assert line == StatusLine("Watch", sign, words)


def test_a_watch_that_cannot_mark_is_a_problem() -> None:
    line = class_status.check_watch(WatchSigns(True, NOW, "the gradebook can't be written"), EMPTY, NOW)
    assert line.sign == BAD and "couldn't mark a submission" in line.words and "can't be written" in line.words


@pytest.mark.parametrize(
    ("queue", "sign", "words"),
    [
        (EMPTY, GOOD, "no submission"),
        (WatchQueue(0, None, 2, None), GOOD, "no submission; 2 more wait as term.toml asks"),
        (
            WatchQueue(1, NOW, 1, None),
            GOOD,
            "1 submission, the first submitted just now; 1 more waits as term.toml asks",
        ),
        (WatchQueue(7, NOW - LATE, 0, None), ATTENTION, "7 submissions, the first submitted 10 minutes ago"),
    ],
)
def test_waiting_submissions_are_counted(queue: WatchQueue, sign: str, words: str) -> None:
    assert class_status.check_waiting(queue, NOW) == StatusLine("Waiting", sign, words)
