"""A team's members get the newest submission of any of them; a name that nobody has is refused."""

import os
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.errors import GradlabError
from autograder.grading.teams import handed_in_by, refuse_unknown_members
from autograder.lms.people import Person
from autograder.lms.roster import write_roster
from autograder.term import Team, Term

TERM = Term(team=(Team(name="blue", members=("ada", "bne"), labs=("x",)),))


def test_the_newest_of_a_team_counts_for_all_of_it(tmp_path: Path) -> None:
    for student, seconds in (("ada", 100), ("cy", 200)):
        folder = tmp_path / "submitted" / student / "x"
        folder.mkdir(parents=True)
        os.utime(folder, (seconds, seconds))
    term = Term(team=(Team(name="blue", members=("ada", "ben", "cy")),))
    assert handed_in_by(tmp_path, "x", term) == dict.fromkeys(("ada", "ben", "cy"), "cy")


def test_a_member_whom_no_roster_names_and_who_handed_in_nothing_is_refused(small_course: Path) -> None:
    with Gradebook(f"sqlite:///{small_course}/gradebook.db") as gradebook:
        refuse_unknown_members(small_course, "x", TERM, gradebook)  # without a roster nobody can tell
        write_roster(gradebook, [Person(id="ada", last_name="Lovelace"), Person(id="ben", last_name="Young")])
        with pytest.raises(GradlabError, match=r"term.toml: team 'blue' names 'bne', .*\n    fix: correct the name"):
            refuse_unknown_members(small_course, "x", TERM, gradebook)
        refuse_unknown_members(small_course, "another", TERM, gradebook)
        (small_course / "submitted" / "bne").mkdir(parents=True)
        refuse_unknown_members(small_course, "x", TERM, gradebook)
