"""A team's members get the newest submission of any of them."""

import os
from pathlib import Path

from autograder.grading.teams import handed_in_by
from autograder.term import Team, Term


def test_the_newest_of_a_team_counts_for_all_of_it(tmp_path: Path) -> None:
    for student, seconds in (("ada", 100), ("cy", 200)):
        folder = tmp_path / "submitted" / student / "x"
        folder.mkdir(parents=True)
        os.utime(folder, (seconds, seconds))
    term = Term(team=(Team(name="blue", members=("ada", "ben", "cy")),))
    assert handed_in_by(tmp_path, "x", term) == dict.fromkeys(("ada", "ben", "cy"), "cy")
