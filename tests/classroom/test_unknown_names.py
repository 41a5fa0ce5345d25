"""A name in term.toml that the course doesn't have is reported, and refused if marks would differ from the decision."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from typer.testing import CliRunner

from autograder.base.errors import GradlabError
from autograder.classroom.unknown_names import list_unknown_names, refuse_unknown_names
from autograder.cli.app import app
from autograder.lms.people import Person
from autograder.lms.roster import write_roster
from autograder.model.term import TERM_FILE, Excuse, Extension, LabTerm, Team, Term
from tests.classroom.graded_class import LAB
from tests.reports.written_class import StudentWork, write_class

EXERCISE = "sum_of_squares"
RIGHT = Term(
    labs={LAB: LabTerm(extra_credit=(EXERCISE,))},
    extension=(Extension(lab=LAB, student="ada", until="2027-02-03T18:00:00Z"),),
    excuse=(Excuse(lab=LAB, exercise=EXERCISE, check="empty"), Excuse(lab=LAB, exercise=EXERCISE, student="ben")),
    team=(Team(name="blue", members=("ada", "ben"), labs=(LAB,)),),
)


@pytest.fixture
def gradebook(small_course: Path) -> Iterator[Gradebook]:
    with Gradebook(f"sqlite:///{small_course}/gradebook.db") as book:
        write_roster(book, [Person(id="ada", last_name="Lovelace"), Person(id="ben", last_name="Young")])
        yield book


def test_known_names_cause_no_message(small_course: Path, gradebook: Gradebook) -> None:
    assert list_unknown_names(small_course, RIGHT, gradebook) == []
    refuse_unknown_names(small_course, LAB, RIGHT, gradebook)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"labs": {"01_square": LabTerm(practice=True)}}, f"[labs] names '01_square', which isn't a lab.*did you mean {LAB}"),
        ({"extension": (Extension(lab="x", student="ada", until="2027-02-03T18:00:00Z"),)}, "of ada names 'x', .*isn't a lab"),
        ({"excuse": (Excuse(lab="01_square", exercise=EXERCISE),)}, "[[excuse]] of sum_of_squares names '01_square'"),
        ({"team": (Team(name="blue", members=("ada",), labs=("z",)),)}, "team 'blue' names 'z', which isn't a lab"),
        ({"extension": (Extension(lab=LAB, student="aad", until="2027-02-03T18:00:00Z"),)}, f"of {LAB} names 'aad', who"),
        ({"excuse": (Excuse(lab=LAB, exercise=EXERCISE, student="bne"),)}, f"[[excuse]] of {LAB} names 'bne', who"),
    ],
)  # fmt: skip
def test_a_decision_that_affects_nothing_is_reported(
    small_course: Path, gradebook: Gradebook, wrong: dict, words: str
) -> None:
    term = RIGHT.model_copy(update=wrong)
    (name,) = list_unknown_names(small_course, term, gradebook)
    message = name.format()
    first, _, second = words.partition(".*")
    assert message.startswith(f"{small_course / TERM_FILE}: ")
    assert first in message
    assert second in message
    assert "\n    fix: " in message
    refuse_unknown_names(small_course, LAB, term, gradebook)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"labs": {LAB: LabTerm(extra_credit=("sum_of_square",))}}, r"extra_credit names 'sum_of_square'.*\n.*did you mean"),
        ({"excuse": (Excuse(lab=LAB, exercise="cubes"),)}, "names 'cubes', which 01_squares doesn't have"),
        ({"excuse": (Excuse(lab=LAB, exercise=EXERCISE, check="emty"),)}, r"'emty', which isn't a check .*\n.*mean empty\?\)"),
        ({"team": (Team(name="blue", members=("ada", "bne")),)}, r"team 'blue' names 'bne', .*\n    fix: correct the name"),
    ],
)  # fmt: skip
def test_a_decision_that_could_affect_a_wrong_mark_is_refused(
    small_course: Path, gradebook: Gradebook, wrong: dict, words: str
) -> None:
    term = RIGHT.model_copy(update=wrong)
    with pytest.raises(GradlabError, match=words):
        refuse_unknown_names(small_course, LAB, term, gradebook)
    assert len(list_unknown_names(small_course, term, gradebook, LAB)) == 1
    refuse_unknown_names(small_course, "another", term.model_copy(update={"team": ()}), gradebook)


def test_without_a_roster_any_name_is_accepted_and_submitters_are_known(small_course: Path) -> None:
    term = Term(team=(Team(name="blue", members=("ada", "bne")),))
    with Gradebook(f"sqlite:///{small_course}/gradebook.db") as gradebook:
        refuse_unknown_names(small_course, LAB, term, gradebook)
        write_roster(gradebook, [Person(id="ada", last_name="Lovelace")])
        (small_course / "submitted" / "bne").mkdir(parents=True)
        refuse_unknown_names(small_course, LAB, term, gradebook)


def test_status_and_report_show_it(small_course: Path) -> None:
    write_class(small_course, [StudentWork("ada")])
    (small_course / TERM_FILE).write_text(f'[[excuse]]\nlab = "{LAB}"\nexercise = "cubes"\n')
    output = CliRunner().invoke(app, ["status", "--course", str(small_course)]).output
    assert "names 'cubes', which 01_squares doesn't have" in output
    CliRunner().invoke(app, ["report", LAB, "--course", str(small_course)])
    assert "&#39;cubes&#39;, which 01_squares" in (small_course / "results" / f"{LAB}.html").read_text()
