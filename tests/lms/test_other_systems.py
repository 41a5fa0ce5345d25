"""Another package provides a learning management system and an exporter, and every command accepts them."""

import csv
import json
import sys
import zipfile
from pathlib import Path

import pytest

from autograder.base.errors import GradlabError
from autograder.lms.downloads import collect_zip
from autograder.lms.feedback_zip import write_feedback_zip
from autograder.lms.learning_system import load_exporter, load_system
from autograder.lms.people import Person
from autograder.lms.roster import read_roster
from tests.lms.graded_labs import LABS
from tests.lms.zips import CANVAS, LAB, PEOPLE, collect, read_submitted, write_zip
from tests.other_packages import install

SLATE = """
    import json

    from autograder.lms.grades import Exporter, GradeTableFormat, format_points
    from autograder.lms.learning_system import LearningSystem
    from autograder.lms.people import Submitter
    from autograder.lms.zip_entries import SubmissionFiles


    def group(entries, problems):
        for entry in entries:
            pile = SubmissionFiles(entry.first, (Submitter(id=entry.first.removeprefix("slate-")),))
            pile.add(entry.parts[-1], entry)
            yield pile


    SLATE = LearningSystem(
        "Slate",
        Exporter("slate.csv", GradeTableFormat({"Pupil": "id"}, {" mark": format_points}).write),
        roster={"id": "pupil", "email": "parent's address"},
        other_rows=("The teacher",),
        can_have_named=lambda entry: entry.first.startswith("slate-"),
        group_files=group,
        is_origin=lambda origin: origin.startswith("slate-"),
    )


    def write(path, people, labs):
        path.write_text(json.dumps({lab.lab: {each.student: each.points for each in lab.graded_members} for lab in labs}))


    POINTS = Exporter("points.json", write)
"""
ZIP = {"slate-ada/01_a.ipynb": b"ada's", "slate-grace/01_a.ipynb": b"grace's"}


@pytest.fixture(autouse=True)
def slate_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    site.mkdir()
    install(site, "gradlab_slate", SLATE, lms="slate = SLATE", exporters="points = POINTS")
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "gradlab_slate", raising=False)


def test_the_roster_of_another_system_is_read(tmp_path: Path) -> None:
    path = tmp_path / "pupils.csv"
    path.write_text("Pupil,Parent's address\nada,a@example.org\nThe teacher,t@example.org\n")
    assert read_roster(path) == [Person(id="ada", email="a@example.org")]


def test_the_zip_of_another_system_is_collected_and_pages_are_returned_under_its_names(tmp_path: Path) -> None:
    outcome = collect_zip(write_zip(tmp_path / "a.zip", ZIP), tmp_path, LAB, PEOPLE)
    assert (outcome.system.title, outcome.collected, outcome.problems) == ("Slate", ["ada", "grace"], [])
    assert read_submitted(tmp_path)[f"ada/{LAB}/{LAB}.ipynb"] == b"ada's"
    page = tmp_path / "feedback" / "ada" / LAB / f"{LAB}.html"
    page.parent.mkdir(parents=True)
    page.write_text("<p>ada")
    assert write_feedback_zip(load_system("slate"), tmp_path, LAB, tmp_path / "back.zip", [page]) == (1, [])
    assert zipfile.ZipFile(tmp_path / "back.zip").namelist() == [f"slate-ada/{LAB}.html"]


def test_grades_are_written_in_the_form_of_another_system(tmp_path: Path) -> None:
    load_exporter("slate").write(tmp_path / "slate.csv", PEOPLE, LABS)
    rows = list(csv.reader((tmp_path / "slate.csv").open(newline="")))
    assert rows[:2] == [["Pupil", "01_a mark", "02_b mark"], ["ada", "15", "3"]]


def test_zips_of_other_systems_are_collected_as_before(tmp_path: Path) -> None:
    assert collect(write_zip(tmp_path / "a.zip", CANVAS), tmp_path, LAB, PEOPLE) == (["ada", "grace"], [])


def test_an_exporter_is_found_next_to_those_of_learning_systems(tmp_path: Path) -> None:
    exporter = load_exporter("points")
    exporter.write(tmp_path / exporter.file, PEOPLE, LABS)
    assert json.loads((tmp_path / "points.json").read_text())["01_a"] == {"ada": 15, "grace": 9.75}
    with pytest.raises(GradlabError, match=r"fix: name one of canvas, .*points, slate"):
        load_exporter("point")
