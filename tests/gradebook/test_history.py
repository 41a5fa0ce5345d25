"""The history of a submission's marks is a file that later versions read."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from autograder.gradebook.history import HistoryEntry, get_history_path, read_history, remember_mark
from autograder.model.result import ResultDocument
from autograder.model.versions import Versions

VERSIONS = Versions(gradlab="0", python="3", torch="2")


def remember(course: Path, points: float) -> None:
    result = ResultDocument(lab="a", student="ada", versions=VERSIONS, isolation=(), cells=())
    remember_mark(course, result, points, None, "grade", {})


def read_worth(course: Path) -> list[float]:
    return [mark.points for mark in read_history(course, "a", "ada")]


def test_the_command_has_its_name_of_the_first_files() -> None:
    entry = HistoryEntry(when=datetime(2027, 2, 1, tzinfo=UTC), command="watch", points=1, worth=2, versions=VERSIONS)
    line = entry.model_dump_json(by_alias=True)
    assert list(json.loads(line))[:4] == ["when", "cause", "points", "worth"]
    assert HistoryEntry.model_validate_json(line) == entry


@pytest.mark.parametrize("cut", [1, 2, 30, 60])
def test_a_line_that_a_crash_cut_off_costs_only_itself(tmp_path: Path, cut: int) -> None:
    remember(tmp_path, 1)
    remember(tmp_path, 2)
    path = get_history_path(tmp_path, "a", "ada")
    path.write_bytes(path.read_bytes()[:-cut])
    whole = [1.0, 2.0] if cut == 1 else [1.0]
    assert read_worth(tmp_path) == whole
    remember(tmp_path, 3)
    remember(tmp_path, 4)
    assert read_worth(tmp_path) == [*whole, 3, 4]


@pytest.mark.parametrize("line", [b"", b"{}", b'{"when": "2027{"}', b"\0" * 40, b"\xff}", b"[]", b"null"])
def test_a_damaged_line_is_skipped(tmp_path: Path, line: bytes) -> None:
    remember(tmp_path, 1)
    with get_history_path(tmp_path, "a", "ada").open("ab") as file:
        file.write(line + b"\n")
    remember(tmp_path, 2)
    assert read_worth(tmp_path) == [1, 2]
