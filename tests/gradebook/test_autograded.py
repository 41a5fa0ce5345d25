"""autograded/STUDENT/LAB holds what nbgrader needs, and of a team each member's own secret."""

from pathlib import Path

import pytest

from autograder.gradebook.autograded import write_autograded
from autograder.handed_in import SECRET

LAB = "x"


def hand_in(course: Path, student: str) -> None:
    folder = course / "submitted" / student / LAB
    folder.mkdir(parents=True)
    (folder / SECRET).write_text(f"{student}'s")
    (folder / "data.csv").write_text(f"1,{student}")


@pytest.mark.parametrize(("student", "secret"), [("ada", "ada's"), ("ben", "ben's"), ("cy", None)])
def test_a_page_of_a_team_is_fetched_by_each_members_own_secret(tmp_path: Path, student: str, secret: str) -> None:
    """Else the pages of a team would take each other's place in the exchange."""
    for member in ("ada", "ben"):
        hand_in(tmp_path, member)
    write_autograded(tmp_path, LAB, student, {LAB: "{}"}, [], 0o644, "ada")
    folder = tmp_path / "autograded" / student / LAB
    assert (folder / "data.csv").read_text() == "1,ada" and (folder / f"{LAB}.ipynb").exists()
    assert ((folder / SECRET).read_text() if (folder / SECRET).exists() else None) == secret
