"""Students who are added to a roster, or removed from it, while the hub runs or is stopped.

Slow: a hub starts twice.
"""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from autograder.gradebook.nbgrader_course import open_course
from autograder.lms.people import list_people
from labext.exchange_client import ExchangeClient, ExchangeRefusal
from tests.classroom.processes import list_children
from tests.hub.hub_process import RunningHub, copy_course, restart_hub, run_hub
from tests.waiting import wait_until

pytestmark = pytest.mark.slow
COURSE = "gradlab"
NAMES = {"ana": "Ana,Abel", "ben": "Ben,Bosch", "cleo": "Cleo,Costa"}


@pytest.fixture
def hub(built_course: Path, tmp_path: Path) -> Iterator[RunningHub]:
    write_roster(tmp_path, "ana", "ben")
    with run_hub(copy_course(built_course, tmp_path), tmp_path, roster=str(tmp_path / "roster.csv")) as running:
        yield running


def write_roster(place: Path, *students: str) -> None:
    rows = [f"{name},{NAMES[name]}\n" for name in students]
    (place / "roster.csv").write_text("id,first_name,last_name\n" + "".join(rows))


def read_names(hub: RunningHub) -> dict[str, str]:
    """Everyone's name in the gradebook."""
    with open_course(hub.course).open_gradebook() as gradebook:
        return {person.id: person.full_name for person in list_people(gradebook)}


def has_server(hub: RunningHub, name: str) -> bool:
    """Whether a process of the hub works in this user's home."""
    folders = []
    for pid, _ in list_children(hub.process.pid, recursive=True):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            folders.append(Path(f"/proc/{pid}/cwd").readlink())
    return hub.folder / "homes" / name in folders


def is_refused(ask: Callable[[], object]) -> bool:
    try:
        ask()
    except (ExchangeRefusal, requests.HTTPError):
        return True
    return False


def test_a_changed_roster_takes_effect(hub: RunningHub) -> None:
    place = hub.folder.parent
    wait_until(lambda: read_names(hub) == {"ana": "Ana Abel", "ben": "Ben Bosch"}, "the gradebook has the roster")
    ana, ben = hub.log_in("ana"), hub.log_in("ben")
    client = ExchangeClient(hub.exchange, ben.draw_token())
    assert client.list_courses() == [COURSE]
    ben.open_server()
    assert has_server(hub, "ben")
    assert is_refused(lambda: hub.log_in("cleo"))

    write_roster(place, "ana", "cleo")
    wait_until(lambda: "added cleo" in (place / "hub.log").read_text(), "the hub has seen the change")
    cleo = ExchangeClient(hub.exchange, hub.log_in("cleo").draw_token())
    assert cleo.list_courses() == [COURSE]
    wait_until(lambda: read_names(hub).get("cleo") == "Cleo Costa", "the gradebook has the new student")
    wait_until(lambda: is_refused(client.list_courses), "Ben's token is refused")
    assert is_refused(lambda: hub.log_in("ben"))
    assert not has_server(hub, "ben")
    assert ana.get("/hub/home").url.endswith("/hub/home")
    assert "ben" in read_names(hub), "marks are kept"
    events = [json.loads(line) for line in (hub.folder / "log" / "roster" / "events.jsonl").read_text().splitlines()]
    assert [(each["event"], each["users"]) for each in events][-2:] == [("removed", "ben"), ("added", "cleo")]
    assert {(each["course"], each["role"]) for each in events[-2:]} == {(COURSE, "students")}

    hub.process.kill()
    hub.process.wait()
    write_roster(place, "cleo")
    with restart_hub(hub) as again:
        wait_until(lambda: "removed ana" in (place / "hub.log").read_text(), "the hub has seen the change")
        assert is_refused(lambda: again.log_in("ana"))
        assert again.log_in("cleo").get("/hub/home").ok
