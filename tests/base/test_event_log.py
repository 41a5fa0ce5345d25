"""The log of who did what: lines of JSON that only its user can read, in files of bounded size."""

import copy
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from autograder.base import event_log
from autograder.base.event_log import OUTPUT, PLACE, open_event_log, record_event


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_event_is_a_line_of_json_that_only_its_user_can_read(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    record_event("login", str(path), user="ana\nzoé")
    record_event("login", str(path), user="ben")
    events = read_lines(path)
    assert [(each["event"], each["user"]) for each in events] == [("login", "ana\nzoé"), ("login", "ben")]
    assert path.stat().st_mode & 0o777 == 0o600


def test_full_files_are_kept_up_to_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "MAX_BYTES", 300)
    monkeypatch.setattr(event_log, "MAX_OLD", 2)
    path = tmp_path / "events.jsonl"
    for number in range(50):
        record_event("login", str(path), number=number)
    files = sorted(tmp_path.iterdir())
    assert [each.name for each in files] == ["events.jsonl", "events.jsonl.1", "events.jsonl.2"]
    assert all(each.stat().st_size <= 300 and each.stat().st_mode & 0o777 == 0o600 for each in files)
    numbers = [event["number"] for each in reversed(files) for event in read_lines(each)]
    assert numbers == list(range(50 - len(numbers), 50))


def test_a_service_without_a_log_records_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PLACE, raising=False)
    record_event("login", user="ana")
    monkeypatch.setenv(PLACE, str(tmp_path / "events.jsonl"))
    record_event("login", user="ben")
    assert [each["user"] for each in read_lines(tmp_path / "events.jsonl")] == ["ben"]


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record_event("login", str(tmp_path / "missing" / "events.jsonl"), user="ana")
    assert "FileNotFoundError" in capsys.readouterr().err


def test_a_container_logs_to_its_output(capsys: pytest.CaptureFixture[str]) -> None:
    open_event_log.cache_clear()  # it keeps the output of another test
    record_event("login", OUTPUT, user="ana")
    assert json.loads(capsys.readouterr().err)["user"] == "ana"
    open_event_log.cache_clear()


def test_a_warning_of_another_program_is_an_event(tmp_path: Path) -> None:
    handler = copy.deepcopy(open_event_log(str(tmp_path / "events.jsonl")))
    logger = logging.Logger("hub")
    logger.addHandler(handler)
    logger.warning("Failed login for %s", "eve")
    (event,) = read_lines(tmp_path / "events.jsonl")
    assert (event["event"], event["message"]) == ("warning", "Failed login for eve")
