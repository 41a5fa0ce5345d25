"""A hub that is killed, or can't start, leaves no process behind.

Once a killed one runs again, every submission and mark is still there.
"""

import contextlib
from pathlib import Path

import pytest

from autograder.hub.hub_folder import CONFIG, CONFIG_FILE
from autograder.hub.services import PROXY_PID
from labext.exchange_client import ExchangeClient
from tests.classroom.processes import list_children
from tests.hub.hub_process import RunningHub, copy_course, release_lab, restart_hub, run_hub
from tests.waiting import wait_until
from tests.watch.watched_exchange import read_scores

LAB, COURSE = "01_squares", "gradlab"
PROXY = "configurable-http-proxy"
SERVICES = ("exchange_service", "watch_service", "root_dir=", "jupyterhub_idle_culler", "autograder.cli watch", PROXY)
BROKEN_SERVICE = """
c.JupyterHub.services.append({"name": "broken", "url": "http://127.0.0.1:9", "command": ["false"]})
"""


def connect(hub: RunningHub, student: str) -> ExchangeClient:
    return ExchangeClient(hub.exchange, hub.log_in(student).draw_token())


def submit(hub: RunningHub, client: ExchangeClient) -> None:
    """Submit, and wait for the mark."""
    count = len(client.list_pages(COURSE, LAB))
    client.submit_folder(COURSE, LAB, hub.course / "release" / LAB)
    wait_until(lambda: len(client.list_pages(COURSE, LAB)) > count, "the watch has marked the submission")


@pytest.mark.slow
def test_a_hub_that_was_killed_continues_with_all_submissions_and_marks(built_course: Path, tmp_path: Path) -> None:
    """Slow: a hub starts twice, and a watch imports torch."""
    with run_hub(copy_course(built_course, tmp_path), tmp_path) as hub:
        release_lab(hub.course, LAB)
        submit(hub, connect(hub, "ana"))
        pages, scores = connect(hub, "ana").list_pages(COURSE, LAB), read_scores(hub.course)
        children = list_children(hub.process.pid, recursive=True)
        started = {pid: command for pid, command in children if any(word in command for word in SERVICES)}
        assert all(any(word in command for command in started.values()) for word in SERVICES)
        hub.process.kill()
        hub.process.wait()
        wait_until(lambda: not [pid for pid in started if Path(f"/proc/{pid}").exists()], "its services have ended")
    assert set(scores) == {"ana"}

    with restart_hub(hub) as again:
        ana = connect(again, "ana")
        assert ana.list_pages(COURSE, LAB) == pages
        submit(again, connect(again, "ben"))
        assert read_scores(hub.course) == scores | {"ben": scores["ana"]}
        submit(again, ana)
        assert len(ana.list_pages(COURSE, LAB)) == 2


@pytest.mark.slow
def test_a_hub_that_cannot_start_leaves_no_process(built_course: Path, tmp_path: Path) -> None:
    """Slow: a hub starts its proxy and its services, before one fails."""
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
