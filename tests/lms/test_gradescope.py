"""Gradescope's form of grades."""

from pathlib import Path

from autograder.lms.gradescope import GRADESCOPE
from tests.lms.graded_labs import write_grades


def test_gradescopes_form_has_four_columns_a_lab(tmp_path: Path) -> None:
    rows = {row["SID"]: row for row in write_grades(GRADESCOPE, tmp_path / "g.csv")}
    grace = rows["grace"]
    assert (grace["01_a"], grace["01_a - Max Points"]) == ("9.75", "15")
    assert grace["01_a - Lateness (H:M:S)"] == "3:25:07"
    assert grace["01_a - Submission Time"] == "2027-02-01 10:00:00 +0000"
    assert rows["eve"]["01_a"] == "" and rows["eve"]["01_a - Submission Time"] == ""
