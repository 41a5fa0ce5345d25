"""Exported grades are read back as each system's own documentation says that it reads them."""

import csv
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from autograder.gradebook.class_schema import Column, LabClass, Mark, Member
from autograder.lms.grades import build_grade_table
from autograder.lms.people import Person
from autograder.lms.systems import System
from autograder.reports.tables import write_table

PEOPLE = [
    Person(id="ada", first_name="Ada", last_name="Lovelace", email="ada@example.org", lms_id="71"),
    Person(id="grace", first_name="Grace", last_name="Hopper", email="grace@example.org", lms_id="72"),
    Person(id="eve", first_name="Eve", last_name="O, Neil", email="eve@example.org"),
]
LATE = 3 * 3600 + 25 * 60 + 7


def lab(name: str, *members: Member) -> LabClass:
    return LabClass(name, (Column("f", 10.0), Column("q", 5.0, by_hand=True)), members)


def member(student: str, f: float, q: float | None = None, penalty: float = 0.0, late: float = 0.0) -> Member:
    marks = {"f": Mark(f), "q": Mark(q, waits=q is None)}
    submitted = datetime(2027, 2, 1, 10, 0)
    return Member(student, "", True, True, marks=marks, penalty=penalty, late=late, submitted=submitted)


LABS = [
    lab("01_a", member("ada", 10, 5), member("grace", 7.25, 4, penalty=1.5, late=LATE), Member("eve")),
    lab("02_b", member("ada", 3), Member("grace", handed_in=True), Member("eve")),
]


def written(system: System, path: Path) -> list[dict[str, str]]:
    write_table(path, *build_grade_table(system, PEOPLE, LABS))
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_canvas_finds_each_student_and_each_assignment_with_its_points(tmp_path: Path) -> None:
    """Canvas: five columns on the left, then assignments; a row `Points Possible` first; an empty cell changes nothing."""
    rows = written(System.CANVAS, tmp_path / "canvas.csv")
    assert list(rows[0])[:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert rows[0]["Student"].strip() == "Points Possible" and rows[0]["01_a"] == "15"
    by_login = {row["SIS Login ID"]: row for row in rows[1:]}
    assert by_login["ada"]["Student"] == "Lovelace, Ada" and by_login["ada"]["ID"] == "71"
    assert (by_login["ada"]["01_a"], by_login["grace"]["01_a"], by_login["eve"]["01_a"]) == ("15", "9.75", "")


def test_moodle_can_map_by_address_or_id_number(tmp_path: Path) -> None:
    """Moodle: `Map from` any column to useremail or useridnumber, each grade column to an item; empty is no grade."""
    rows = written(System.MOODLE, tmp_path / "moodle.csv")
    assert {row["Email address"]: row["01_a (Real)"] for row in rows} == {
        "ada@example.org": "15",
        "grace@example.org": "9.75",
        "eve@example.org": "",
    }
    assert [row["ID number"] for row in rows] == ["ada", "grace", "eve"]
    assert all(float(value or 0) >= 0 for row in rows for name, value in row.items() if name.endswith("(Real)"))


def test_gradescopes_form_has_four_columns_a_lab(tmp_path: Path) -> None:
    rows = {row["SID"]: row for row in written(System.GRADESCOPE, tmp_path / "g.csv")}
    grace = rows["grace"]
    assert (grace["01_a"], grace["01_a - Max Points"]) == ("9.75", "15")
    assert grace["01_a - Lateness (H:M:S)"] == "3:25:07"
    assert grace["01_a - Submission Time"] == "2027-02-01 10:00:00 +0000"
    assert rows["eve"]["01_a"] == "" and rows["eve"]["01_a - Submission Time"] == ""


def test_the_spreadsheet_says_raw_and_late_points_and_who_is_missing(tmp_path: Path) -> None:
    rows = {row["id"]: row for row in written(System.CSV, tmp_path / "marks.csv")}
    assert (rows["grace"]["01_a"], rows["grace"]["01_a before lateness"]) == ("9.75", "11.25")
    states = {student: (row["01_a state"], row["02_b state"]) for student, row in rows.items()}
    assert states == {
        "ada": ("graded", "to be read"),
        "grace": ("late", "not graded"),
        "eve": ("missing", "missing"),
    }


def test_a_file_that_could_not_be_read_is_called_damaged() -> None:
    torn = lab("01_a", replace(member("ada", 0, 0), damaged=True))
    _, rows = build_grade_table(System.CSV, PEOPLE, [torn])
    assert "damaged" in next(row for row in rows if row[0] == "ada")


@pytest.mark.parametrize("name", ["=1+1", "+49", "-x", "@sum", "\tx", "=HYPERLINK(1)"])
@pytest.mark.parametrize("system", list(System))
def test_no_cell_begins_like_a_formula(name: str, system: System) -> None:
    _, rows = build_grade_table(system, [Person(id=name, first_name=name, last_name=name)], LABS)
    assert not any(str(value).startswith(("=", "+", "-", "@", "\t")) for row in rows for value in row)
