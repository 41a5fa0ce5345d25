"""Canvas can read exported grades, by its documentation."""

from pathlib import Path

from autograder.lms.canvas import CANVAS
from tests.lms.graded_labs import write_grades


def test_canvas_finds_each_student_and_each_assignment_with_its_points(tmp_path: Path) -> None:
    """Canvas: five columns on the left, then assignments; a row `Points Possible` first; an empty cell changes nothing."""
    rows = write_grades(CANVAS, tmp_path / "canvas.csv")
    assert list(rows[0])[:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert rows[0]["Student"].strip() == "Points Possible" and rows[0]["01_a"] == "15"
    by_login = {row["SIS Login ID"]: row for row in rows[1:]}
    assert by_login["ada"]["Student"] == "Lovelace, Ada" and by_login["ada"]["ID"] == "71"
    assert (by_login["ada"]["01_a"], by_login["grace"]["01_a"], by_login["eve"]["01_a"]) == ("15", "9.75", "")
