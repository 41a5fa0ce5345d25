"""A class on a real JupyterHub: a lab is released, fetched, submitted and marked, and no one else sees the page."""

import json
import re
import stat
from collections.abc import Iterator
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

LAB, COURSE = "01_squares", "gradlab"
TEACH = f"/services/teach-{COURSE}"


@pytest.fixture(scope="module", params=["newest", pytest.param("oldest", marks=pytest.mark.nightly)])
def hub(
    request: pytest.FixtureRequest, built_course: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningHub]:
    place = tmp_path_factory.mktemp("online")
    with run_hub(copy_course(built_course, place), place, age=request.param) as running:
        yield running


def list_assignments(student: HubUser, base: str, status: str) -> list[dict[str, object]]:
    """What nbgrader's Assignment List shows."""
    answer = student.get(f"{base}assignments?course_id={COURSE}").json()
    assert answer["success"], answer
    return [each for each in answer["value"] if each["status"] == status]


@pytest.mark.slow
def test_a_student_fetches_submits_and_gets_a_mark_that_no_one_else_sees(hub: RunningHub) -> None:
    """Slow: a hub with three services and a student's server start, and a watch imports torch."""
    ana = hub.log_in("ana")
    base = ana.open_server()
    assert list_assignments(ana, base, "released") == []
    release_lab(hub.course, LAB)
    (released,) = list_assignments(ana, base, "released")
    assert released["assignment_id"] == LAB

    answer = ana.post(f"{base}assignments/fetch", {"course_id": COURSE, "assignment_id": LAB}, base)
    assert [each["status"] for each in answer.json()["value"]] == ["fetched"]
    home = hub.folder / "homes" / "ana"
    notebook = home / COURSE / LAB / f"{LAB}.ipynb"
    assert notebook.read_bytes() == (hub.course / "release" / LAB / f"{LAB}.ipynb").read_bytes()
    assert [lab["name"] for lab in ana.get(f"{base}gradlab/course").json()["labs"]] == [LAB]

    (lab,) = read_labs(read_course(hub.course))
    notebook.write_text(json.dumps(fill_notebook(lab, collect_reference(lab))))
    mark = ana.post(f"{base}gradlab/mark", {"path": f"{COURSE}/{LAB}/{LAB}.ipynb", "agreed": True}, base).json()
    if not mark["marked"]:  # the watch was still starting
        assert mark["words"] == LATER
        wait_for_page(hub, ana)
    else:
        assert mark["words"] == "Submitted, and marked: 2 of 2 points"
    (submitted,) = list_assignments(ana, base, "submitted")
    assert submitted["submissions"][0]["notebooks"][0]["has_exchange_feedback"]  # type: ignore[index]
    answer = ana.post(f"{base}assignments/fetch_feedback", {"course_id": COURSE, "assignment_id": LAB}, base)
    assert answer.json()["success"]
    (page,) = (home / COURSE / LAB / "feedback").glob(f"*/{LAB}.html")
    assert "2 of 2 points" in page.read_text()

    assert_others_see_nothing(hub, page.read_bytes())
    with Gradebook(f"sqlite:///{hub.course}/gradebook.db", COURSE) as gradebook:
        gradebook.update_or_create_assignment(LAB, duedate="2099-12-04 18:00:00")
    due = "2099-12-04T18:00:00+00:00"
    wait_until(lambda: ana.get(f"{base}gradlab/course").json()["labs"][0]["due"] == due, "the home has the due date")
    line = rf"^\[INFO \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d,\d{{3}} watch-{COURSE}\] ana {LAB}: 2 of 2"
    wait_until(lambda: re.search(line, hub.log.read_text(), re.MULTILINE), "the hub's output has the mark")


def wait_for_page(hub: RunningHub, student: HubUser) -> None:
    client = ExchangeClient(hub.exchange, student.draw_token())
    wait_until(lambda: client.list_pages(COURSE, LAB), "the watch has marked the submission")


def assert_others_see_nothing(hub: RunningHub, page: bytes) -> None:
    ben = ExchangeClient(hub.exchange, hub.log_in("ben").draw_token())
    assert list(ben.list_labs(COURSE)) == [LAB]
    assert ben.list_pages(COURSE, LAB) == []
    (name,) = [
        path.stem for path in (hub.folder / "exchange" / COURSE / "nbgrader" / COURSE / "feedback").glob("*.html")
    ]
    for place in (f"courses/{COURSE}/labs/{LAB}/pages/{name}", f"courses/{COURSE}/labs/{LAB}%2f..%2f..%2ffeedback"):
        session = requests.Session()
        session.trust_env = False
        answer = session.get(hub.exchange + place, headers={"Authorization": f"token {ben.token}"})
        assert answer.status_code == 404 and page not in answer.content
    with pytest.raises(ExchangeRefusal, match="no valid token"):
        ExchangeClient(hub.exchange, "nonsense").list_courses()


@pytest.mark.slow
def test_the_home_has_the_courses_title_and_its_own_pages(hub: RunningHub) -> None:
    """Slow: see above."""
    ana = hub.log_in("ana")
    base, start = ana.open_server(), hub.folder / "homes" / "ana" / COURSE / START
    released = hub.course / "release" / START

    def read_home() -> dict[str, object]:
        return dict(ana.get(f"{base}gradlab/course").json())

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


@pytest.mark.slow
def test_teachers_work_in_the_course_and_students_do_not(hub: RunningHub) -> None:
    """Slow: see above."""
    prof, ana = hub.log_in("prof"), hub.log_in("ana")
    assert prof.get("/hub/").url == f"{hub.url}{TEACH}/lab"
    for page in ("lab", "gradlab/desk/", "formgrader"):
        assert prof.get(f"{TEACH}/{page}").status_code == 200
        assert ana.get(f"{TEACH}/{page}").status_code == 403
    assert prof.get(f"{TEACH}/api/contents/source").json()["name"] == "source"
    assert ana.get(f"{TEACH}/api/contents/source").status_code in (403, 404)
    assert ana.get("/user/prof/lab").status_code in (403, 404, 424)


@pytest.mark.slow
def test_no_other_user_of_the_machine_reads_the_hubs_files(hub: RunningHub) -> None:
    """Slow: see above."""
    for path in (
        hub.folder,
        hub.folder / "exchange",
        hub.folder / "log",
        hub.folder / "jupyterhub.sqlite",
        hub.folder / "homes",
    ):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


@pytest.mark.slow
def test_ctrl_c_ends_everything(built_course: Path, tmp_path: Path) -> None:
    """Slow: a hub of its own starts and ends."""
    with run_hub(copy_course(built_course, tmp_path), tmp_path) as hub:
        started = dict(list_children(hub.process.pid, recursive=True))
        assert any("exchange_service" in command for command in started.values())
        assert any("watch_service" in command for command in started.values())
    wait_until(lambda: not [pid for pid in started if Path(f"/proc/{pid}").exists()], "all services have ended")
