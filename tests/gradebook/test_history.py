"""The history of a submission's marks is a file that later versions read."""

import json
from datetime import UTC, datetime

from autograder.gradebook.history import HistoryEntry
from autograder.model.versions import Versions


def test_the_command_has_its_name_of_the_first_files() -> None:
    versions = Versions(gradlab="0", python="3", torch="2")
    entry = HistoryEntry(when=datetime(2027, 2, 1, tzinfo=UTC), command="watch", points=1, worth=2, versions=versions)
    line = entry.model_dump_json(by_alias=True)
    assert list(json.loads(line))[:4] == ["when", "cause", "points", "worth"]
    assert HistoryEntry.model_validate_json(line) == entry
