"""Students on the roster are known by fields that a roster has and grading doesn't."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.gradebook.database import open_gradebook
from autograder.gradebook.enrolment import find_unenrolled
from autograder.lms.people import Person
from autograder.lms.roster import write_roster


@pytest.fixture
def gradebook(tmp_path: Path) -> Iterator[Gradebook]:
    with open_gradebook(f"sqlite:///{tmp_path}/gradebook.db") as book:
        yield book


def test_a_student_with_only_an_id_was_added_by_grading(gradebook: Gradebook) -> None:
    write_roster(gradebook, [Person(id="ada", first_name="Ada"), Person(id="ben", email="ben@example.org")])
    gradebook.add_student("cy")  # as grading adds submitters
    assert find_unenrolled(gradebook, ["dee", "cy", "ben", "ada"]) == ["cy", "dee"]


def test_without_a_roster_or_with_one_of_ids_only_there_is_no_message(gradebook: Gradebook) -> None:
    assert find_unenrolled(gradebook, ["ada"]) == []
    write_roster(gradebook, [Person(id="ada")])
    assert find_unenrolled(gradebook, ["ada", "ben"]) == []
