"""Moodle can read exported grades, by its documentation."""

from pathlib import Path

from autograder.lms.moodle import MOODLE
from tests.lms.graded_labs import write_grades


def test_moodle_can_map_by_address_or_id_number(tmp_path: Path) -> None:
    """Moodle: `Map from` any column to useremail or useridnumber, each grade column to an item; empty is no grade."""
    rows = write_grades(MOODLE, tmp_path / "moodle.csv")
    assert {row["Email address"]: row["01_a (Real)"] for row in rows} == {
        "ada@example.org": "15",
        "grace@example.org": "9.75",
        "eve@example.org": "",
    }
    assert [row["ID number"] for row in rows] == ["ada", "grace", "eve"]
    assert all(float(value or 0) >= 0 for row in rows for name, value in row.items() if name.endswith("(Real)"))
