"""What lies in submitted/ and is no submission is named, with the place where one lies."""

from pathlib import Path

from autograder.intake.stray import stray
from autograder.words import some


def test_what_lies_in_the_wrong_place_is_named_with_the_right_one(tmp_path: Path) -> None:
    (tmp_path / "source" / "01").mkdir(parents=True)
    for folder in ("ada/01", "ben/01_Squares", "empty"):
        (tmp_path / "submitted" / folder).mkdir(parents=True)
    loose = tmp_path / "submitted" / "cleo"
    loose.mkdir()
    (loose / "01.ipynb").write_text("{}")
    (tmp_path / "submitted" / "marks.xlsx").write_text("")
    assert stray(tmp_path) == [
        "submitted/ben/ holds 01_Squares, which is no assignment: a submission lies in submitted/STUDENT/LAB/LAB.ipynb",
        "submitted/cleo/ holds 01.ipynb, and no submission: one lies in submitted/STUDENT/LAB/LAB.ipynb",
        "submitted/empty/ holds no submission: one lies in submitted/STUDENT/LAB/LAB.ipynb",
        "submitted/marks.xlsx is no student's folder, and was left alone",
    ]


def test_ids_that_look_alike_are_told(tmp_path: Path) -> None:
    (tmp_path / "source" / "01").mkdir(parents=True)
    for student in ("ada", "Ada", "ben"):
        (tmp_path / "submitted" / student / "01").mkdir(parents=True)
    assert stray(tmp_path) == ["Ada and ada look like one student: each gets a mark of its own"]
    assert stray(tmp_path, {"ada", "Ada", "ben"}) == [], "the roster has both"
    (told,) = stray(tmp_path, {"ada", "ben", "BEN"})
    assert told == (
        "Ada handed in, and the roster has ada: if that is who it is, mv submitted/Ada submitted/ada, "
        "and nbgrader db student remove Ada --force"
    )
    assert [line.split(",")[0] for line in stray(tmp_path, {"ADA", "Ben"})] == [
        "Ada handed in", "ada handed in", "ben handed in",
    ]  # fmt: skip


def test_of_many_names_a_few_are_told() -> None:
    assert some(list("abc")) == "a, b, c"
    assert some(list("abcdefgh")) == "a, b, c, d, e and 3 more"
