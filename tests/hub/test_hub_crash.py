"""A hub whose roster changes while it runs, that is killed, or that can't start.

It leaves no process behind. Once a killed one runs again, every submission and mark is still there, and its roster is
the present one. Slow: a hub starts twice, and a watch imports torch.
"""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from autograder.gradebook.nbgrader_course import open_course
from autograder.hub.hub_folder import CONFIG, CONFIG_FILE
from autograder.hub.services import PROXY_PID
from autograder.lms.people import list_people
from labext.exchange_client import ExchangeClient, ExchangeRefusal
from tests.classroom.processes import list_children
from tests.hub.hub_process import RunningHub, copy_course, release_lab, restart_hub, run_hub
from tests.waiting import wait_until
from tests.watch.watched_exchange import read_scores

pytestmark = pytest.mark.slow
LAB, COURSE = "01_squares", "gradlab"
NAMES = {"ana": "Ana,Abel", "ben": "Ben,Bosch", "cleo": "Cleo,Costa"}
PROXY = "configurable-http-proxy"
SERVICES = ("exchange_service", "watch_service", "root_dir=", "jupyterhub_idle_culler", "autograder.cli watch", PROXY)
BROKEN_SERVICE = """
c.JupyterHub.services.append({"name": "broken", "url": "http://127.0.0.1:9", "command": ["false"]})
"""


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


def connect(hub: RunningHub, student: str) -> ExchangeClient:
    return ExchangeClient(hub.exchange, hub.log_in(student).draw_token())


def submit(hub: RunningHub, client: ExchangeClient) -> None:
    """Submit, and wait for the mark."""
    count = len(client.list_pages(COURSE, LAB))
    client.submit_folder(COURSE, LAB, hub.course / "release" / LAB)
    wait_until(lambda: len(client.list_pages(COURSE, LAB)) > count, "the watch has marked the submission")


def test_a_hub_follows_its_roster_and_keeps_everything_if_it_is_killed(hub: RunningHub) -> None:
    place = hub.folder.parent
    expect_changed_roster(hub)
    release_lab(hub.course, LAB)
    submit(hub, connect(hub, "ana"))
    pages, scores = connect(hub, "ana").list_pages(COURSE, LAB), read_scores(hub.course)
    assert set(scores) == {"ana"}
    children = list_children(hub.process.pid, recursive=True)
    started = {pid: command for pid, command in children if any(word in command for word in SERVICES)}
    assert all(any(word in command for command in started.values()) for word in SERVICES)
    hub.process.kill()
    hub.process.wait()
    wait_until(lambda: not [pid for pid in started if Path(f"/proc/{pid}").exists()], "its services have ended")

    write_roster(place, "ana", "ben")
    with restart_hub(hub) as again:
        wait_until(lambda: "removed cleo" in (place / "hub.log").read_text(), "the hub has seen the change")
        assert is_refused(lambda: again.log_in("cleo"))
        ana = connect(again, "ana")
        assert ana.list_pages(COURSE, LAB) == pages
        submit(again, connect(again, "ben"))
        assert read_scores(hub.course) == scores | {"ben": scores["ana"]}
        submit(again, ana)
        assert len(ana.list_pages(COURSE, LAB)) == 2


def expect_changed_roster(hub: RunningHub) -> None:
    """Replace Ben by Cleo while both have something to lose."""
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
    assert connect(hub, "cleo").list_courses() == [COURSE]
    wait_until(lambda: read_names(hub).get("cleo") == "Cleo Costa", "the gradebook has the new student")
    wait_until(lambda: is_refused(client.list_courses), "Ben's token is refused")
    assert is_refused(lambda: hub.log_in("ben"))
    assert not has_server(hub, "ben")
    assert ana.get("/hub/home").url.endswith("/hub/home")
    assert "ben" in read_names(hub), "marks are kept"
    events = [json.loads(line) for line in (hub.folder / "log" / "roster" / "events.jsonl").read_text().splitlines()]
    assert [(each["event"], each["users"]) for each in events][-2:] == [("removed", "ben"), ("added", "cleo")]
    assert {(each["course"], each["role"]) for each in events[-2:]} == {(COURSE, "students")}


@pytest.mark.nightly
def test_a_hub_that_cannot_start_leaves_no_process(built_course: Path, tmp_path: Path) -> None:
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub" / CONFIG_FILE).write_text(CONFIG + BROKEN_SERVICE)
    with (
        pytest.raises(RuntimeError, match="Service broken exited with status 1"),
        run_hub(copy_course(built_course, tmp_path), tmp_path),
    ):
        pass
    proxy = (tmp_path / "hub" / PROXY_PID).read_text()
    wait_until(lambda: not Path(f"/proc/{proxy}").exists(), "the proxy has ended")
    wait_until(lambda: not list_processes_below(tmp_path), "its services have ended")


def list_processes_below(folder: Path) -> list[str]:
    """List the command lines that name something in this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            found.append(path.read_text(errors="replace"))
    return [line for line in found if str(folder) in line]
