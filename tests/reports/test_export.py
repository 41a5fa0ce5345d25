"""marks.csv: what a spreadsheet opens without running anything."""

import csv
from pathlib import Path

import pytest

from autograder.gradebook.schema import SubmissionResult
from autograder.reports import export


@pytest.mark.parametrize("name", ["=1+1", "+49", "-x", "@sum", "\tx", "=HYPERLINK(1)"])
def test_no_cell_begins_like_a_formula(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = SubmissionResult(student=name, lab="lab", points=-1.5, worth=2)
    monkeypatch.setattr(export, "read_results", lambda *_: [result])
    export.write_csv("", tmp_path, ["lab"], tmp_path / "marks.csv")
    with (tmp_path / "marks.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["student"] == f"'{name}" and row["points"] == "-1.5" and row["lab"] == "lab"
