"""Anything in submitted/ that is no submission is named, with the place where submissions belong."""

from pathlib import Path

from autograder.base.text import join_names
from autograder.intake.strays import find_strays


def test_a_misplaced_submission_is_named_with_the_right_place(tmp_path: Path) -> None:
    (tmp_path / "source" / "01").mkdir(parents=True)
    for folder in ("ada/01", "ben/01_Squares", "empty"):
        (tmp_path / "submitted" / folder).mkdir(parents=True)
    loose = tmp_path / "submitted" / "cleo"
    loose.mkdir()
    (loose / "01.ipynb").write_text("{}")
    (tmp_path / "submitted" / "marks.xlsx").write_text("")
    assert find_strays(tmp_path) == [
        "submitted/ben/ contains 01_Squares, which isn't an assignment: submissions belong in "
        "submitted/STUDENT/LAB/LAB.ipynb",
        "submitted/cleo/ contains 01.ipynb but no submission: submissions belong in submitted/STUDENT/LAB/LAB.ipynb",
        "submitted/empty/ contains no submission: submissions belong in submitted/STUDENT/LAB/LAB.ipynb",
        "submitted/marks.xlsx isn't a student's folder and was ignored",
    ]


def test_ids_that_look_alike_are_reported(tmp_path: Path) -> None:
    (tmp_path / "source" / "01").mkdir(parents=True)
    for student in ("ada", "Ada", "ben"):
        (tmp_path / "submitted" / student / "01").mkdir(parents=True)
    assert find_strays(tmp_path) == ["Ada and ada look like one student: each gets a separate mark"]
    assert find_strays(tmp_path, {"ada", "Ada", "ben"}) == [], "the roster has both"
    assert [line.split(",")[0] for line in find_strays(tmp_path, {"ADA", "Ben"})] == [
        "Ada submitted", "ada submitted", "ben submitted",
    ]  # fmt: skip


def test_advice_about_an_id_in_another_case_depends_on_its_folders(tmp_path: Path) -> None:
    for lab in ("01", "02"):
        (tmp_path / "source" / lab).mkdir(parents=True)
    (tmp_path / "submitted" / "Ada" / "01").mkdir(parents=True)
    is_one = "Ada submitted, but the roster has ada: if they're the same student, "
    removal = ", and nbgrader db student remove Ada --force"
    assert find_strays(tmp_path, {"ada"}) == [f"{is_one}mv submitted/Ada submitted/ada{removal}"]
    (tmp_path / "submitted" / "ada" / "02").mkdir(parents=True)
    assert find_strays(tmp_path, {"ada"}) == [f"{is_one}mv submitted/Ada/* submitted/ada/{removal}"]
    (tmp_path / "submitted" / "ada" / "01").mkdir(parents=True)
    assert find_strays(tmp_path, {"ada"}) == [
        "Ada submitted, but the roster has ada, who also submitted 01: if they're the same student, keep one folder of each "
        "lab"
    ]
    (tmp_path / "submitted" / "Ada" / "01" / "submission_secret.txt").write_text("x")
    assert find_strays(tmp_path, {"ada"}) == [
        "Ada submitted, but the roster has ada: if they're the same student, change the roster's id to Ada, the login in the "
        "exchange"
    ]


def test_only_a_few_of_many_names_are_listed() -> None:
    assert join_names(list("abc")) == "a, b, c"
    assert join_names(list("abcdefgh")) == "a, b, c, d, e and 3 more"
