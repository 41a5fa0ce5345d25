"""What a class leaves on record: who logged in, what was released and submitted, and who gave a mark by hand.

Slow: a hub with three services starts, and a watch imports torch.
"""

import json
import re
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import requests

from labext.exchange_client import ExchangeClient, Receipt
from tests.hub.hub_process import RunningHub, copy_course, release_lab, run_hub
from tests.waiting import wait_until

pytestmark = pytest.mark.slow
LAB, COURSE, CHECK = "01_squares", "gradlab", "check-sum_of_squares"
TEACH = f"/services/teach-{COURSE}"
DESK = f"{TEACH}/gradlab/desk"


@pytest.fixture(scope="module")
def hub(built_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    place = tmp_path_factory.mktemp("records")
    with run_hub(copy_course(built_course, place), place) as running:
        wait_until(lambda: read_events(running, f"watch-{COURSE}"), "the watch's service has started")
        release_lab(running.course, LAB)
        yield running


@pytest.fixture(scope="module")
def receipt(hub: RunningHub) -> Receipt:
    """Of a submission that is marked."""
    ben = ExchangeClient(hub.exchange, hub.log_in("ben").draw_token())
    receipt = ben.submit_folder(COURSE, LAB, hub.course / "release" / LAB)
    wait_until(lambda: ben.list_pages(COURSE, LAB), "the watch has marked the submission")
    return receipt


def read_events(hub: RunningHub, part: str) -> list[dict[str, str]]:
    log = hub.folder / "log" / part / "events.jsonl"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_a_mark_by_hand_says_who_gave_it(hub: RunningHub, receipt: Receipt) -> None:
    prof = hub.log_in("prof")
    page = prof.get(f"{DESK}/read/{LAB}/{LAB}/{CHECK}").text
    (state,) = re.findall(r'<script type="application/json" id="state">(.*)</script>', page)
    version = json.loads(state)["marks"]["ben"]["version"]
    mark = {"lab": LAB, "notebook": LAB, "cell": CHECK, "student": "ben", "version": version, "points": 1.5}
    answer = prof.post(f"{DESK}/mark", mark, f"{TEACH}/")
    assert answer.json()["marks"]["ben"]["giver"] == "marked by prof, just now", answer.text


def test_logins_and_failed_logins_are_logged(hub: RunningHub) -> None:
    hub.log_in("ana")
    with pytest.raises(requests.HTTPError):
        replace(hub, password="a guess").log_in("eve")
    hub.log_in("ana").get("/hub/nowhere")
    events = read_events(hub, "hub")  # a busy machine adds warnings
    login, failure, again = [each for each in events if "login" in f"{each['event']} {each.get('message')}"][-3:]
    assert (login["event"], login["user"], login["address"]) == ("login", "ana", "127.0.0.1")
    assert failure["event"] == "warning" and failure["message"].startswith("Failed login for ")
    assert again["event"] == "login"
    assert "nowhere" not in (hub.folder / "log" / "hub" / "events.jsonl").read_text(), (
        "no one fills the log with requests"
    )


def test_releases_and_submissions_are_logged(hub: RunningHub, receipt: Receipt) -> None:
    (submission,) = read_events(hub, "exchange")
    assert (submission["student"], submission["lab"], submission["receipt"]) == ("ben", LAB, receipt.timestamp)
    start, release = read_events(hub, f"watch-{COURSE}")
    assert (start["event"], release["event"], release["lab"]) == ("start", "release", LAB)


def test_teachers_see_that_everything_runs(hub: RunningHub, receipt: Receipt) -> None:
    page = hub.log_in("prof").get(f"{DESK}/status").text
    rows = dict(re.findall(r'<th scope="row">([^<]*)</th><td><span[^>]*></span>\s*([^<]*)</td>', page))
    assert (rows["Exchange"], rows["Watch"], rows["Waiting"]) == ("runs", "runs", "no submission"), rows
    assert re.match("just now|[0-9]+ minutes? ago", rows["Last mark"])
    assert hub.log_in("ana").get(f"{DESK}/status").status_code == 403
    session = requests.Session()
    session.trust_env = False
    health = session.get(f"{hub.exchange}health")
    assert (health.status_code, health.json()) == (200, {"status": "ok"})
