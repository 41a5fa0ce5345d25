"""Marks for a spreadsheet."""

from dataclasses import replace
from pathlib import Path

from autograder.lms.spreadsheet import SPREADSHEET
from tests.lms.graded_labs import make_lab, make_member, write_grades


def test_the_spreadsheet_says_raw_and_late_points_and_who_is_missing(tmp_path: Path) -> None:
    rows = {row["id"]: row for row in write_grades(SPREADSHEET, tmp_path / "marks.csv")}
    assert (rows["grace"]["01_a"], rows["grace"]["01_a before lateness"]) == ("9.75", "11.25")
    states = {student: (row["01_a state"], row["02_b state"]) for student, row in rows.items()}
    assert states == {
        "ada": ("graded", "to be read"),
        "grace": ("late", "not graded"),
        "eve": ("missing", "missing"),
    }


def test_a_file_that_could_not_be_read_is_called_damaged(tmp_path: Path) -> None:
    torn = make_lab("01_a", replace(make_member("ada", 0, 0), unreadable=True))
    assert write_grades(SPREADSHEET, tmp_path / "marks.csv", [torn])[0]["01_a state"] == "damaged"
