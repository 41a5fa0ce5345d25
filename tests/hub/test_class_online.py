"""A class on a real JupyterHub: what a student gets, what no one else sees, and what stays on record.

Slow: a hub with services and a student's server start, and a watch imports torch.
"""

import json
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import requests
from nbgrader.api import Gradebook

from autograder.authoring.course_folder import read_course, read_labs
from autograder.demo.students import collect_reference, fill_notebook
from labext.class_submission import LATER
from labext.exchange_client import ExchangeClient, ExchangeRefusal
from labkit.notebook_progress import START
from tests.classroom.processes import list_children
from tests.hub.hub_process import HubUser, RunningHub, copy_course, release_lab, run_hub
from tests.waiting import wait_until

pytestmark = pytest.mark.slow
LAB, COURSE, CHECK = "01_squares", "gradlab", "check-sum_of_squares"
TEACH = f"/services/teach-{COURSE}"
DESK = f"{TEACH}/gradlab/desk"
SERVICES = ("exchange_service", "watch_service")


@pytest.fixture(scope="module", params=["newest", pytest.param("oldest", marks=pytest.mark.nightly)])
def hub(
    request: pytest.FixtureRequest, built_course: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningHub]:
    """A hub, which Ctrl-C ends with all that it started."""
    place = tmp_path_factory.mktemp("online")
    with run_hub(copy_course(built_course, place), place, age=request.param) as running:
        yield running
        started = dict(list_children(running.process.pid, recursive=True))
        assert all(any(name in command for command in started.values()) for name in SERVICES)
    wait_until(lambda: not [pid for pid in started if Path(f"/proc/{pid}").exists()], "Ctrl-C has ended all services")


@dataclass(frozen=True)
class MarkedStudent:
    """A student with a mark."""

    user: HubUser
    base: str
    """The address of their own server, below the hub's."""
    home: Path
    answer: dict[str, object]
    """What *Mark my work* said."""


@pytest.fixture(scope="module")
def ana(hub: RunningHub) -> MarkedStudent:
    """Ana has fetched the lab, submitted it and got a mark."""
    ana = hub.log_in("ana")
    base = ana.open_server()
    assert list_assignments(ana, base, "released") == []
    wait_until(lambda: read_events(hub, f"watch-{COURSE}"), "the watch's service has started")
    release_lab(hub.course, LAB)
    (released,) = list_assignments(ana, base, "released")
    assert released["assignment_id"] == LAB
    fetched = ana.post(f"{base}assignments/fetch", {"course_id": COURSE, "assignment_id": LAB}, base)
    assert [each["status"] for each in fetched.json()["value"]] == ["fetched"]
    home = hub.folder / "homes" / "ana"
    notebook = home / COURSE / LAB / f"{LAB}.ipynb"
    assert notebook.read_bytes() == (hub.course / "release" / LAB / f"{LAB}.ipynb").read_bytes()
    (lab,) = read_labs(read_course(hub.course))
    notebook.write_text(json.dumps(fill_notebook(lab, collect_reference(lab))))
    mark = ana.post(f"{base}gradlab/mark", {"path": f"{COURSE}/{LAB}/{LAB}.ipynb", "agreed": True}, base).json()
    client = ExchangeClient(hub.exchange, ana.draw_token())
    wait_until(lambda: client.list_pages(COURSE, LAB), "the watch has marked the submission")
    return MarkedStudent(ana, base, home, mark)


def list_assignments(student: HubUser, base: str, status: str) -> list[dict[str, object]]:
    """What nbgrader's Assignment List shows."""
    answer = student.get(f"{base}assignments?course_id={COURSE}").json()
    assert answer["success"], answer
    return [each for each in answer["value"] if each["status"] == status]


def test_a_student_who_fetches_and_submits_gets_a_mark(hub: RunningHub, ana: MarkedStudent) -> None:
    words = "Submitted, and marked: 2 of 2 points" if ana.answer["marked"] else LATER  # if the watch was still starting
    assert ana.answer["words"] == words
    assert [lab["name"] for lab in ana.user.get(f"{ana.base}gradlab/course").json()["labs"]] == [LAB]
    (submitted,) = list_assignments(ana.user, ana.base, "submitted")
    assert submitted["submissions"][0]["notebooks"][0]["has_exchange_feedback"]  # type: ignore[index]
    line = rf"^\[INFO \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d,\d{{3}} watch-{COURSE}\] ana {LAB}: 2 of 2"
    wait_until(lambda: re.search(line, hub.log.read_text(), re.MULTILINE), "the hub's output has the mark")


def test_no_one_else_sees_a_students_page(hub: RunningHub, ana: MarkedStudent) -> None:
    wanted = {"course_id": COURSE, "assignment_id": LAB}
    assert ana.user.post(f"{ana.base}assignments/fetch_feedback", wanted, ana.base).json()["success"]
    (page,) = (ana.home / COURSE / LAB / "feedback").glob(f"*/{LAB}.html")
    assert "2 of 2 points" in page.read_text()
    ben = ExchangeClient(hub.exchange, hub.log_in("ben").draw_token())
    assert list(ben.list_labs(COURSE)) == [LAB]
    assert ben.list_pages(COURSE, LAB) == []
    pages = hub.folder / "exchange" / COURSE / "nbgrader" / COURSE / "feedback"
    (name,) = [path.stem for path in pages.glob("*.html")]
    for place in (f"courses/{COURSE}/labs/{LAB}/pages/{name}", f"courses/{COURSE}/labs/{LAB}%2f..%2f..%2ffeedback"):
        session = requests.Session()
        session.trust_env = False
        answer = session.get(hub.exchange + place, headers={"Authorization": f"token {ben.token}"})
        assert answer.status_code == 404 and page.read_bytes() not in answer.content
    with pytest.raises(ExchangeRefusal, match="no valid token"):
        ExchangeClient(hub.exchange, "nonsense").list_courses()


def test_the_home_has_the_due_date(hub: RunningHub, ana: MarkedStudent) -> None:
    with Gradebook(f"sqlite:///{hub.course}/gradebook.db", COURSE) as gradebook:
        gradebook.update_or_create_assignment(LAB, duedate="2099-12-04 18:00:00")
    due = "2099-12-04T18:00:00+00:00"
    read_due = lambda: ana.user.get(f"{ana.base}gradlab/course").json()["labs"][0]["due"]  # noqa: E731
    wait_until(lambda: read_due() == due, "the home has the due date")


def test_the_home_has_the_courses_title_and_its_own_pages(hub: RunningHub, ana: MarkedStudent) -> None:
    start, released = ana.home / COURSE / START, hub.course / "release" / START

    def read_home() -> dict[str, object]:
        return dict(ana.user.get(f"{ana.base}gradlab/course").json())

    wait_until(lambda: f"{COURSE}/{START}" in read_home()["pages"], "the student has the start page")  # type: ignore[operator]
    assert read_home()["title"] == "A small course"
    assert start.read_bytes() == released.read_bytes()
    released.write_bytes(newer := released.read_bytes() + b"\n")
    wait_until(lambda: read_home() and start.read_bytes() == newer, "the student has the newer page")

    start.write_bytes(own := newer + b"\n\n")
    published = hub.folder / "exchange" / COURSE / "nbgrader" / COURSE / "pages" / START
    released.write_bytes(newest := newer + b" ")
    wait_until(lambda: published.read_bytes() == newest, "the exchange has the newest page")
    assert read_home()["title"] == "A small course"
    assert start.read_bytes() == own, "what the student has changed is kept"


def test_teachers_work_in_the_course_and_students_do_not(hub: RunningHub) -> None:
    prof, student = hub.log_in("prof"), hub.log_in("ben")
    assert prof.get("/hub/").url == f"{hub.url}{TEACH}/lab"
    for page in ("lab", "gradlab/desk/", "formgrader"):
        assert prof.get(f"{TEACH}/{page}").status_code == 200
        assert student.get(f"{TEACH}/{page}").status_code == 403
    assert prof.get(f"{TEACH}/api/contents/source").json()["name"] == "source"
    assert student.get(f"{TEACH}/api/contents/source").status_code in (403, 404)
    assert student.get("/user/prof/lab").status_code in (403, 404, 424)


def test_no_other_user_of_the_machine_reads_the_hubs_files(hub: RunningHub) -> None:
    parts = ("exchange", "log", "jupyterhub.sqlite", "homes")
    for path in (hub.folder, *(hub.folder / part for part in parts)):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def read_events(hub: RunningHub, part: str) -> list[dict[str, str]]:
    log = hub.folder / "log" / part / "events.jsonl"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_a_mark_by_hand_says_who_gave_it(hub: RunningHub, ana: MarkedStudent) -> None:
    prof = hub.log_in("prof")
    page = prof.get(f"{DESK}/read/{LAB}/{LAB}/{CHECK}").text
    (state,) = re.findall(r'<script type="application/json" id="state">(.*)</script>', page)
    version = json.loads(state)["marks"]["ana"]["version"]
    mark = {"lab": LAB, "notebook": LAB, "cell": CHECK, "student": "ana", "version": version, "points": 1.5}
    answer = prof.post(f"{DESK}/mark", mark, f"{TEACH}/")
    assert answer.json()["marks"]["ana"]["giver"] == "marked by prof, just now", answer.text


def test_logins_and_failed_logins_are_logged(hub: RunningHub) -> None:
    hub.log_in("ben")
    with pytest.raises(requests.HTTPError):
        replace(hub, password="a guess").log_in("eve")
    hub.log_in("ben").get("/hub/nowhere")
    events = read_events(hub, "hub")  # a busy machine adds warnings
    login, failure, again = [each for each in events if "login" in f"{each['event']} {each.get('message')}"][-3:]
    assert (login["event"], login["user"], login["address"]) == ("login", "ben", "127.0.0.1")
    assert failure["event"] == "warning" and failure["message"].startswith("Failed login for ")
    assert again["event"] == "login"
    log = (hub.folder / "log" / "hub" / "events.jsonl").read_text()
    assert "nowhere" not in log, "no one fills the log with requests"


def test_releases_and_submissions_are_logged(hub: RunningHub, ana: MarkedStudent) -> None:
    (submission,) = read_events(hub, "exchange")
    (listed,) = list_assignments(ana.user, ana.base, "submitted")
    (receipt,) = listed["submissions"]  # type: ignore[misc]
    assert (submission["student"], submission["lab"], submission["receipt"]) == ("ana", LAB, receipt["timestamp"])
    start, release = read_events(hub, f"watch-{COURSE}")
    assert (start["event"], release["event"], release["lab"]) == ("start", "release", LAB)


def test_teachers_see_that_everything_runs(hub: RunningHub, ana: MarkedStudent) -> None:
    page = hub.log_in("prof").get(f"{DESK}/status").text
    rows = dict(re.findall(r'<th scope="row">([^<]*)</th><td><span[^>]*></span>\s*([^<]*)</td>', page))
    assert (rows["Exchange"], rows["Watch"], rows["Waiting"]) == ("runs", "runs", "no submission"), rows
    assert re.match("just now|[0-9]+ minutes? ago", rows["Last mark"])
    assert hub.log_in("ben").get(f"{DESK}/status").status_code == 403
    session = requests.Session()
    session.trust_env = False
    health = session.get(f"{hub.exchange}health")
    assert (health.status_code, health.json()) == (200, {"status": "ok"})
