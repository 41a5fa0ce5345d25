"""The class of deploy/compose.yaml in real containers: a lab is released, fetched, submitted and marked."""

import json
from collections.abc import Iterator

import pytest
import requests

from labext.class_submission import LATER
from tests.conftest import ROOT
from tests.hub.hub_process import ANSWER_SECONDS, HubUser, RunningHub
from tests.images.class_containers import COURSE, find_container, run_class
from tests.images.engine import run_inside
from tests.waiting import wait_until

LAB = "01_tensors"
TEACH = f"/services/teach-{COURSE}"
KNOCK = """
import socket
for place in ("hub:8081", "hub:8000", "hub:8001", "exchange:8090", "teach-gradlab:8090", "192.0.2.1:443"):
    host, _, port = place.partition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
        print(place, "open")
    except OSError:
        print(place, "closed")
"""


@pytest.fixture(scope="module")
def running(hub: str, grader: str, student: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    with run_class(tmp_path_factory.mktemp("class")) as running:
        wait_until(lambda: answers(running, "/hub/health") and answers(running, TEACH), "the class is online")
        yield running


def answers(running: RunningHub, path: str) -> bool:
    try:
        return requests.get(running.url + path, timeout=ANSWER_SECONDS).ok
    except requests.ConnectionError:
        return False


def test_a_student_fetches_submits_and_gets_a_mark(running: RunningHub) -> None:
    prof = running.log_in("prof")
    assert prof.get("/hub/").url == f"{running.url}{TEACH}/lab"
    assert [prof.get(f"{TEACH}/{page}").status_code for page in ("lab", "gradlab/desk/", "formgrader")] == [200] * 3
    run_inside(find_container(f"teach-{COURSE}"), "nbgrader", "release_assignment", LAB)

    ana = running.log_in("ana")
    assert ana.get(f"{TEACH}/lab").status_code == 403
    base = ana.open_server()
    fetched = ana.post(f"{base}assignments/fetch", {"course_id": COURSE, "assignment_id": LAB}, base).json()
    assert [each["status"] for each in fetched["value"]] == ["fetched"]
    answer = (ROOT / "solutions" / LAB / f"{LAB}.ipynb").read_text()
    path, script = f"{COURSE}/{LAB}/{LAB}.ipynb", "import sys; open(sys.argv[1], 'w').write(sys.argv[2])"
    run_inside("jupyter-ana", "python", "-c", script, path, json.dumps(json.loads(answer)))
    mark = ana.post(f"{base}gradlab/mark", {"path": path, "agreed": True}, base).json()
    if not mark["marked"]:  # the watch was still starting
        assert mark["words"] == LATER
    wait_until(lambda: list_marked(ana, base) == [LAB], "the watch has marked the submission")


def list_marked(student: HubUser, base: str) -> list[str]:
    """The labs whose feedback waits in the exchange, as nbgrader's Assignment List shows it."""
    listed = student.get(f"{base}assignments?course_id={COURSE}").json()["value"]
    submitted = [each for each in listed if each["status"] == "submitted"]
    return [
        each["assignment_id"]
        for each in submitted
        if all(notebook["has_exchange_feedback"] for one in each["submissions"] for notebook in one["notebooks"])
    ]


def test_a_students_container_reaches_the_hub_and_the_exchange_only(running: RunningHub) -> None:
    running.log_in("ben").open_server()
    opened = run_inside("jupyter-ben", "python", "-c", KNOCK).splitlines()
    assert {line.split()[0] for line in opened if line.endswith("open")} == {"hub:8081", "hub:8000", "exchange:8090"}
    assert len(opened) == 6
    status = run_inside("jupyter-ben", "cat", "/proc/self/status")
    assert "CapEff:\t0000000000000000" in status and "NoNewPrivs:\t1" in status
    assert run_inside("jupyter-ben", "id", "-u").strip() == "1000"


def test_submissions_are_fully_isolated_and_the_exchange_can_not_read_the_course(running: RunningHub) -> None:
    doctor = run_inside(find_container(f"watch-{COURSE}"), "gradlab", "doctor")
    assert "Submissions are fully isolated." in doctor
    exchange = find_container("exchange")
    assert run_inside(exchange, "id", "-u").strip() == "1001"
    assert "Permission denied" in run_inside(exchange, "ls", "/course", check=False)
