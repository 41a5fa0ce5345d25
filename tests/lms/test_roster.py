"""A roster is read as the systems export it, and a row that can't be read is named by its line."""

from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.base.errors import GradlabError
from autograder.lms.people import Person, Submitter, find_person, group_same_names, list_people
from autograder.lms.roster import read_roster, write_roster

ADA = Person(id="ada", first_name="Ada", last_name="Lovelace", email="ada@example.org", lms_id="71")
CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,Lab 1 (31)
    Points Possible,,,,,10
"Lovelace, Ada",71,S1,ada,A,
"Hopper, Grace",72,S2,grace,A,
"""
MOODLE = """First name,Last name,ID number,Email address
Ada,Lovelace,ada,ada@example.org
"""
GRADESCOPE = """Name,SID,Email,Role
Ada Lovelace,ada,ada@example.org,Student
"""
OWN = """id;first_name;last_name;email;lms_user_id
ada;Ada;Lovelace;ada@example.org;71
"""


def read(tmp_path: Path, text: str, encoding: str = "utf-8") -> list[Person]:
    path = tmp_path / "roster.csv"
    path.write_text(text, encoding=encoding)
    return read_roster(path)


def test_each_systems_export_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, OWN, "utf-8-sig") == [ADA]
    assert read(tmp_path, MOODLE) == [ADA.model_copy(update={"lms_id": ""})]
    assert read(tmp_path, GRADESCOPE) == [ADA.model_copy(update={"lms_id": ""})]
    ada, grace = read(tmp_path, CANVAS)
    assert ada == ADA.model_copy(update={"email": ""}) and (grace.id, grace.lms_id) == ("grace", "72")


def test_an_address_is_an_id_if_a_file_has_names_or_nothing_else(tmp_path: Path) -> None:
    for head, row in (("Email address", ""), ("Name,Email,Group", "Ada Lovelace,")):
        (person,) = read(tmp_path, f"{head}\n{row}ada@example.org\n")
        assert person.id == "ada"


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "is empty"),
        ("name,points\nAda,3\n", "line 1: no column identifies a student; the columns are name, points"),
        (
            "foo,email\nada,x@example.org\n",
            "line 1: no column has the students' ids: email as email was read, and foo wasn't",
        ),
        ("id,email\nada,x\n,\nada,y\n", "line 4: 'ada' is listed twice"),
        ("id,first_name\n,Ada\n", "line 2: this row has no id"),
        ("id\n../ada\n", r"line 2: '../ada' can't be an id"),
        ("id\nada+grace\n", "can't be an id"),
        ("id\n", "lists no students"),
        ("id,lms_user_id\nada,71\nben,\ncy,71\n", "line 4: 'cy' has the same number as 'ada', 71"),
        ("id\nada\na/b\nada\n", r"line 3: 'a/b' can't be an id[^@]*line 4: 'ada' is listed twice"),
    ],
)
def test_a_row_that_cannot_be_read_is_named_by_its_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(GradlabError, match=words):
        read(tmp_path, text)


def test_the_test_student_of_canvas_is_left_out(tmp_path: Path) -> None:
    people = read(tmp_path, CANVAS + '"Student, Test",99,,0a1b2c,A,\n')
    assert [person.id for person in people] == ["ada", "grace"]


def test_another_encoding_is_named_by_its_line(tmp_path: Path) -> None:
    with pytest.raises(GradlabError, match="line 2 isn't UTF-8"):
        read(tmp_path, "id,last_name\nada,Müller\n", "latin-1")


def test_known_students_are_updated_and_unnamed_ones_are_kept(built_course: Path, tmp_path: Path) -> None:
    (tmp_path / "gradebook.db").write_bytes((built_course / "gradebook.db").read_bytes())
    with Gradebook(f"sqlite:///{tmp_path}/gradebook.db") as gradebook:
        gradebook.add_student("grace", email="grace@example.org")
        gradebook.add_student("ada")
        assert write_roster(gradebook, [ADA]) == (0, 1)
        assert write_roster(gradebook, [Person(id="grace", last_name="Hopper"), Person(id="x")]) == (1, 1)
        people = {person.id: person for person in list_people(gradebook)}
    assert people["ada"] == ADA
    assert people["grace"].email == "grace@example.org"
    assert set(people) == {"ada", "grace", "x"}


def test_two_students_of_one_name_are_distinguished_by_number_and_never_guessed() -> None:
    twins = [ADA, Person(id="ada2", first_name="Ada", last_name="Lovelace", lms_id="99")]
    assert group_same_names(twins) == [tuple(twins)]
    assert find_person(twins, Submitter(number="99", name="lovelaceada")).id == "ada2"
    with pytest.raises(GradlabError, match="may be any of ada, ada2"):
        find_person(twins, Submitter(name="lovelaceada"))
    with pytest.raises(GradlabError, match="no one on the roster is 'Grace Hopper'"):
        find_person(twins, Submitter(name="Grace Hopper"))


@pytest.mark.parametrize("name", ["lovelaceada", "Ada Lovelace", "Lovelace, Ada", "ADA LOVELACE", "Lovelacé Ada"])
def test_a_name_is_recognized_in_every_form_that_systems_write(name: str) -> None:
    assert find_person([ADA, Person(id="x", first_name="X", last_name="Y")], Submitter(name=name)) == ADA


def test_names_in_any_script_are_distinguished() -> None:
    names = ("雪 山田", "Иван Петров", "김 철수", "राम शर्मा", "Ann Lee")
    people = [
        Person(id=f"k{n}", first_name=first, last_name=last) for n, (first, last) in enumerate(map(str.split, names))
    ]
    assert group_same_names(people) == []
    assert [find_person(people, Submitter(name=name)).id for name in names] == ["k0", "k1", "k2", "k3", "k4"]
    for stranger in ("李 雷", "रम शर्मा", "Ян Ли", "--", ""):
        with pytest.raises(GradlabError, match="no one on the roster"):
            find_person(people, Submitter(name=stranger))
