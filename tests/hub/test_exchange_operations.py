"""The exchange on a machine with a full disk or a clock that is set back, what it reports, and what it logs."""

import json
import os
import resource
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from autograder.base.event_log import PLACE
from tests.hub.exchange_process import COURSE, LAB, ExchangeProcess, pack

SOUND = {f"{LAB}.ipynb": b"{}"}
LARGE = {f"{LAB}.ipynb": bytes(200_000)}


def read_time(name: str) -> datetime:
    """The time in a submission's name."""
    return datetime.strptime(name.split("+")[2], "%Y-%m-%d %H:%M:%S.%f UTC").replace(tzinfo=UTC)


def submit_before_clock_is_set_back(exchange: ExchangeProcess, by: timedelta) -> str:
    """A submission of Ana's whose time is later than the clock by now."""
    name = f"ana+{LAB}+{datetime.now(UTC) + by:%Y-%m-%d %H:%M:%S.%f} UTC+x"
    (exchange.course / "inbound" / name).mkdir()
    return name


def submit(exchange: ExchangeProcess, token: str = "ana-token") -> str:
    """The name of a new submission."""
    before = set(exchange.list_stored())
    assert exchange.submit(pack(SOUND), token) == (200, "")
    (name,) = set(exchange.list_stored()) - before
    return name


def test_a_later_submission_has_a_later_time_though_the_clock_was_set_back(exchange: ExchangeProcess) -> None:
    exchange.kill()
    exchange.start()  # a new process remembers no time
    before = submit_before_clock_is_set_back(exchange, timedelta(minutes=5))
    times = [read_time(name) for name in (before, submit(exchange), submit(exchange))]
    assert times == sorted(set(times))
    os.rmdir(exchange.course / "inbound" / before)


def test_a_time_that_was_far_ahead_moves_no_later_one(exchange: ExchangeProcess) -> None:
    """A watch marks no submission from the future, so one with such a time would wait."""
    exchange.kill()
    exchange.start()
    before = submit_before_clock_is_set_back(exchange, timedelta(days=2))
    assert read_time(submit(exchange)) < datetime.now(UTC) + timedelta(minutes=30)  # others may have moved it a little
    os.rmdir(exchange.course / "inbound" / before)


def test_a_student_does_not_inherit_the_time_of_another(exchange: ExchangeProcess) -> None:
    exchange.kill()
    exchange.start()
    before = submit_before_clock_is_set_back(exchange, timedelta(minutes=5))
    assert read_time(submit(exchange, "ben-token")) < datetime.now(UTC)
    os.rmdir(exchange.course / "inbound" / before)


@pytest.mark.parametrize("limit", [0, 50_000, 204_000])
def test_a_disk_that_fills_up_refuses_a_submission_and_keeps_the_others(exchange: ExchangeProcess, limit: int) -> None:
    """Stands for it: a limit on a file's size, which stops the upload at once, in the middle or at the end."""
    assert exchange.process is not None
    stored, files = submit(exchange), exchange.list_files()
    soft, hard = resource.prlimit(exchange.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(exchange.process.pid, resource.RLIMIT_FSIZE, (limit, hard))
    status, problem = exchange.submit(pack(LARGE))
    resource.prlimit(exchange.process.pid, resource.RLIMIT_FSIZE, (soft, hard))
    assert status == 400 and problem.startswith("it can't be stored: "), (status, problem)
    assert exchange.list_files() == files
    assert (exchange.course / "inbound" / stored / f"{LAB}.ipynb").read_bytes() == b"{}"
    assert exchange.submit(pack(LARGE)) == (200, "")


def test_health_is_reported_to_anyone_without_a_name_or_a_path(exchange: ExchangeProcess) -> None:
    status, body = exchange.ask("health", token=None)
    assert (status, json.loads(body)) == (200, {"status": "ok"})


def test_an_exchange_without_its_folder_is_not_healthy(exchange: ExchangeProcess) -> None:
    inbound = exchange.course / "inbound"
    inbound.rename(exchange.course / "gone")
    status, body = exchange.ask("health", token=None)
    (exchange.course / "gone").rename(inbound)
    assert (status, json.loads(body)) == (503, {"status": "the folder of submissions can't be read"})


def test_a_submission_is_logged_with_its_receipt_and_without_its_secret(exchange: ExchangeProcess) -> None:
    archive = pack(SOUND)
    status, body = exchange.ask(f"courses/{COURSE}/labs/{LAB}/submissions", body=archive)
    receipt = json.loads(body)
    assert status == 200
    event = exchange.read_events()[-1]
    assert event.pop("when").endswith("+00:00")
    assert event == {
        "event": "submission",
        "course": COURSE,
        "lab": LAB,
        "student": "ana",
        "bytes": len(archive),
        "receipt": receipt["timestamp"],
    }
    log = Path(exchange.environment[PLACE])
    assert receipt["secret"] not in log.read_text() and "ana-token" not in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_refused_submission_is_logged_with_the_reason(exchange: ExchangeProcess) -> None:
    status, problem = exchange.submit(b"no archive" * 100, "ben-token")
    event = exchange.read_events()[-1]
    assert status == 400
    assert (event["event"], event["student"], event["reason"]) == ("refused submission", "ben", problem)
