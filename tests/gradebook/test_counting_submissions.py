"""A team's members get the newest submission of any of them, and it must be clear whose it is."""

import os
from pathlib import Path

import pytest

from autograder.base.errors import GradlabError
from autograder.gradebook.counting_submissions import find_counting_submissions, find_newest_submission
from autograder.model.term import TERM_FILE, Team, Term, read_term


def test_the_newest_of_a_team_counts_for_all_of_it(tmp_path: Path) -> None:
    for student, seconds in (("ada", 100), ("cy", 200)):
        folder = tmp_path / "submitted" / student / "x"
        folder.mkdir(parents=True)
        os.utime(folder, (seconds, seconds))
    term = Term(team=(Team(name="blue", members=("ada", "ben", "cy")),))
    counting = find_counting_submissions(tmp_path, "x", term)
    assert {student: each.submitter for student, each in counting.items()} == dict.fromkeys(("ada", "ben", "cy"), "cy")
    assert find_newest_submission(tmp_path, "x", ["ben"]) is None


BLUE = '[[team]]\nname = "blue"\nmembers = ["ada", "ben"]\nlabs = ["x"]\n'


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ('name = "red"\nmembers = ["cy", "ben"]', "team: ben in two teams for the same lab, 'blue' and 'red'"),
        ('name = "blue"\nmembers = ["cy"]\nlabs = ["w", "x"]', "team: two teams of one lab are called 'blue'"),
        ('name = "red"\nmembers = ["cy", "cy"]', "team: team 'red' names cy twice"),
    ],
)
def test_teams_that_cross_are_refused(tmp_path: Path, other: str, words: str) -> None:
    (tmp_path / TERM_FILE).write_text(f"{BLUE}[[team]]\n{other}\n")
    with pytest.raises(GradlabError, match=words):
        read_term(tmp_path)


def test_teams_of_different_labs_may_share_names_and_members(tmp_path: Path) -> None:
    (tmp_path / TERM_FILE).write_text(BLUE + BLUE.replace('"x"', '"y"'))
    assert len(read_term(tmp_path).team) == 2
