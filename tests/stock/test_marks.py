"""Marks of stock assignments: by nbgrader's rules, in the sandbox, and checked outside the student process if possible.

Slow: two classes are graded in this file, and nbgrader puts their assignments into the gradebook with a kernel.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import nbformat
import pytest

from autograder.base.errors import GradlabError
from autograder.classroom.grading_outcome import GradingOutcome
from autograder.classroom.open_class import grade_lab
from autograder.classroom.stock_assignment import read_companion_files
from autograder.gradebook.autograded_folder import CopyRules, list_companion_files
from autograder.gradebook.class_reader import read_class
from autograder.gradebook.labels import make_labels
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.result_documents import load_document
from autograder.gradebook.result_reader import read_result
from autograder.model.fingerprint import MARKS, digest_code
from autograder.model.note_sentences import describe_notes
from autograder.model.result import ResultDocument
from autograder.reports.feedback import write_feedback
from autograder.workers.executors import LocalExecutor
from tests.page_text import read_page_text
from tests.stock.autotests import AUTOTESTS, MADE
from tests.stock.small_course import RELEASED, RIGHT, SOURCE
from tests.stock.stock_course import (
    OURS,
    answer_notebook,
    make_cell,
    make_notebook,
    make_solution,
    make_test,
    read_marks,
    write,
)

pytestmark = pytest.mark.slow
# One student in a thousand tries to cheat.
STRIPS = """import ast
class Strip(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.Pass()
get_ipython().ast_transformers.append(Strip())
def scale(x, k):
    return []
"""
TELLS = STRIPS.replace("return ast.Pass()", "open('told', 'w').close()\n        return ast.Pass()").replace(
    "return []", "from os.path import exists\n    return [v * k for v in x] if exists('told') else []"
)
SAYS_YES = """class Yes(list):
    def __eq__(self, other): return True
    def __getitem__(self, n): return 0.3
def scale(x, k):
    return Yes()
"""
KEEPS = """kept = []
def scale(x, k):
    kept.append((x, k))
    return [v * k for v in x]
"""
HANDED_IN = {
    "right": RIGHT,
    "strips": RIGHT | {"scale": STRIPS, "value": "a = 0"},
    "tells": RIGHT | {"scale": TELLS},
    "says_yes": RIGHT | {"scale": SAYS_YES},
    "keeps": RIGHT | {"scale": KEEPS, "value": "a = 7\nprint('KEPT', kept)"},
    "exits": RIGHT | {"value": "import os\nos._exit(3)"},
    "kills": RIGHT | {"value": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"},
}
OLD = json.dumps(
    {
        "nbformat": 4,
        "nbformat_minor": 0,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "cells": [
            make_cell("g = 3") | {"metadata": {"nbgrader": {"solution": True, "grade_id": "old"}}},
            make_cell("assert g == 3")
            | {"metadata": {"nbgrader": {"grade": True, "grade_id": "old_is", "points": "2"}}},
        ],
    }
)
BONUS = make_notebook(make_solution("more", "found = 12"), make_test("counted", "found", 10))
# The course's own solution passes the first three tests only in its own process.
KEPT = make_notebook(
    make_solution("both", "def same(x):\n    return x\ndef upto(n):\n    return list(range(n))"),
    make_test("alias", "x = [1]\ny = same(x)\ny.append(2)\nassert x == [1, 2]"),
    make_test("long", "assert len(upto(200_000)) == 200_000"),
    make_test("quiet", "same(0.5);", 2),
    make_test("value", "assert same(3) == 3"),
)


def grade(course: Path, lab: str, executor: LocalExecutor) -> list[GradingOutcome]:
    return list(grade_lab(open_course(course), lab, executor))


def make_marked_course(root: Path) -> Path:
    write(root / "nbgrader_config.py", OURS)
    write(root / "source/ps1/p1.ipynb", SOURCE)
    write(root / "source/ps1/data.txt", "one two three\n")
    for student, answers in HANDED_IN.items():
        write(root / f"submitted/{student}/ps1/p1.ipynb", answer_notebook(SOURCE, RELEASED | answers))
    second_notebook = json.loads(answer_notebook(SOURCE, RELEASED | RIGHT))
    (place,) = [
        n
        for n, c in enumerate(second_notebook["cells"])
        if c["metadata"].get("nbgrader", {}).get("grade_id") == "value"
    ]
    second_notebook["cells"].insert(place, second_notebook["cells"][place] | {"source": "a = 1"})
    write(root / "submitted/twice/ps1/p1.ipynb", json.dumps(second_notebook))
    write(root / "submitted/broken/ps1/p1.ipynb", "no notebook")
    for name, text in (("old", OLD), ("bonus", BONUS), ("made", MADE)):
        write(root / f"source/ps3/{name}.ipynb", text)
    write(root / "source/ps3/autotests.yml", AUTOTESTS)
    write(root / "submitted/right/ps3/old.ipynb", OLD)
    write(root / "submitted/right/ps3/bonus.ipynb", BONUS)
    write(root / "submitted/right/ps3/made.ipynb", answer_notebook(MADE, {"made": "n = 5"}))
    write(root / "submitted/wrong/ps3/made.ipynb", answer_notebook(MADE, {"made": "n = 6"}))
    write(root / "source/ps4/kept.ipynb", KEPT)
    write(root / "submitted/right/ps4/kept.ipynb", KEPT)
    source = STRIPS.replace("scale(x, k)", "same(x)") + "def upto(n):\n    return []\n"
    write(root / "submitted/strips/ps4/kept.ipynb", answer_notebook(KEPT, {"both": source}))
    with open_course(root).api.gradebook as gradebook:
        gradebook.add_assignment("ps4", duedate="2999-01-01")  # and never released
    return root


@pytest.fixture(scope="module")
def course(two_graders: LocalExecutor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_marked_course(tmp_path_factory.mktemp("plain"))
    digest_code(MARKS)  # of the current code, even if it's edited while this runs
    for lab in ("ps1", "ps3", "ps4"):
        outcomes = grade(root, lab, two_graders)
        assert not [each.failure for each in outcomes if each.failure]
    return root


def load_student_document(course: Path, student: str, lab: str = "ps1") -> ResultDocument:
    result = load_document(course, lab, student)
    assert result is not None
    return result


def list_own_process_cells(course: Path, student: str) -> set[str]:
    result = load_student_document(course, student)
    return {make_labels(result).label_id(each.id) for each in result.cells if each.own_process}


def test_each_cell_says_where_it_was_decided(course: Path) -> None:
    assert read_marks(course, "right")["scale_values"] == 2
    assert list_own_process_cells(course, "right") == {"value_is", "words_found", "lines"}


def test_nothing_waits_in_a_class_that_was_just_graded(course: Path) -> None:
    members = read_class(f"sqlite:///{course}/gradebook.db", course, "ps1").members
    assert not [member.student for member in members if member.from_earlier_build or member.needs_regrading]


def test_tests_removed_in_the_submissions_own_process_fail_in_another_one(course: Path) -> None:
    """Tests that read variables can only run there: the submission's word counts, and the result says so."""
    assert read_marks(course, "strips")["scale_values"] == 0
    assert read_marks(course, "strips")["value_is"] == 1
    assert "value_is" in list_own_process_cells(course, "strips")
    assert any("scale_values" in remark for remark in describe_notes(load_student_document(course, "strips").remarks))


def test_a_test_that_the_submissions_own_process_read_helps_too_late(course: Path) -> None:
    assert read_marks(course, "tells")["scale_values"] == 0


def test_an_object_that_equals_everything_earns_nothing_and_is_named(course: Path) -> None:
    assert read_marks(course, "says_yes")["scale_values"] == 2  # nbgrader's mark
    assert "scale_values" in list_own_process_cells(course, "says_yes")
    assert any(
        "isn't a plain value" in remark for remark in describe_notes(load_student_document(course, "says_yes").remarks)
    )


def test_tests_that_the_courses_solution_passes_only_in_its_own_process_are_decided_there(course: Path) -> None:
    assert read_marks(course, "right", "ps4", "kept") == {"alias": 1, "long": 1, "quiet": 2, "value": 1}
    result = load_student_document(course, "right", "ps4")
    assert [make_labels(result).label_id(each.id) for each in result.cells if each.own_process] == [
        "alias",
        "long",
        "quiet",
    ]
    assert read_marks(course, "strips", "ps4", "kept")["value"] == 0, "the others are still decided outside"


def test_the_courses_own_solution_is_tried_without_files_of_a_students(tmp_path: Path) -> None:
    write(tmp_path / "source/ps1/data.txt", "the course's")
    write(tmp_path / "submitted/ada/ps1/math.py", "raise SystemExit")
    write(tmp_path / "submitted/ada/ps1/data.txt", "another")
    files, given, _ = read_companion_files(
        tmp_path, "ps1", "ada", list_companion_files(tmp_path, "ps1", "ada", CopyRules())
    )
    assert dict(files) == {"data.txt": b"the course's", "math.py": b"raise SystemExit"} and given == {"data.txt"}


def test_files_have_their_own_names_where_cells_run_unless_the_course_has_them(tmp_path: Path) -> None:
    write(tmp_path / "source/ps1/data/numbers.yaml", "the course's")
    for name in ("settings.yaml.not-run", "data.not-run/x.csv", "data/numbers.yaml.not-run", "data/more.ini.not-run"):
        write(tmp_path / "submitted/ada/ps1" / name, "own")
    files, _, _ = read_companion_files(
        tmp_path, "ps1", "ada", list_companion_files(tmp_path, "ps1", "ada", CopyRules())
    )
    assert dict(files) == {
        "settings.yaml": b"own",
        "data/x.csv": b"own",
        "data/numbers.yaml": b"the course's",
        "data/numbers.yaml.not-run": b"own",
        "data/more.ini": b"own",
    }


def test_the_reason_for_refusing_a_source_is_in_nbgraders_words(course: Path, tmp_path: Path) -> None:
    course = Path(shutil.copytree(course, tmp_path, dirs_exist_ok=True))
    write(course / "source/ps5/p.ipynb", make_notebook(make_test("", "assert True")))
    write(course / "submitted/right/ps5/p.ipynb", make_notebook())
    with pytest.raises(GradlabError, match="grade_id"):
        grade(course, "ps5", LocalExecutor())


@pytest.mark.parametrize("student", ["exits", "kills"])
def test_a_cell_that_ends_its_process_costs_itself(course: Path, student: str) -> None:
    marks = read_marks(course, student)
    assert marks["scale_values"] == 2
    assert marks["words_found"] == 4
    assert marks["lines"] == 1
    assert marks["value_is"] == 0
    assert any("value" in remark for remark in describe_notes(load_student_document(course, student).remarks))
    assert not load_student_document(course, student).notes


def test_of_a_duplicated_cell_the_last_one_counts(course: Path) -> None:
    assert read_marks(course, "twice")["value_is"] == 1


def test_a_file_that_is_no_notebook_gets_a_score_and_a_reason(course: Path) -> None:
    assert set(read_marks(course, "broken").values()) == {0}
    result = load_student_document(course, "broken")
    assert result.empty and "not a notebook" in describe_notes(result.notes)[0]


def test_manual_and_task_cells_wait_for_a_person(course: Path) -> None:
    marks = read_marks(course, "right")
    assert marks["why"] is None
    assert marks["free"] is None
    assert marks["explore"] is None
    result = read_result(f"sqlite:///{course}/gradebook.db", course, "ps1", "right")
    assert result.needs_manual_grade
    assert [e.name for e in result.exercises if e.by_hand] == ["why", "free", "explore"]


def test_a_score_above_the_maximum_counts_as_the_maximum(course: Path) -> None:
    """Stock nbgrader stops at such a submission."""
    assert read_marks(course, "right", "ps3", "bonus") == {"counted": 10}
    assert any(
        "above the 10 points" in note for note in describe_notes(load_student_document(course, "right", "ps3").notes)
    )


def test_metadata_of_older_versions_and_cells_without_ids_are_graded(course: Path) -> None:
    assert read_marks(course, "right", "ps3", "old") == {"old_is": 2}
    graded = nbformat.read(course / "autograded/right/ps3/old.ipynb", as_version=4)
    nbformat.validate(graded)


def test_tests_that_nbgrader_made_are_run_as_it_made_them(course: Path) -> None:
    assert read_marks(course, "right", "ps3", "made") == {"made_is": 1}
    assert read_marks(course, "wrong", "ps3", "made") == {"made_is": 0}
    assert "AUTOTEST" not in (course / "autograded/right/ps3/made.ipynb").read_text()


def test_a_notebook_that_was_not_submitted_earns_nothing_and_waits_for_no_one(course: Path) -> None:
    assert read_marks(course, "wrong", "ps3", "bonus") == {"counted": 0}
    result = load_student_document(course, "wrong", "ps3")
    assert result.missing == ("bonus", "old") and result.notebooks == ("bonus", "made", "old")


@pytest.mark.parametrize("student", ["keeps", "strips"])
def test_feedback_reveals_nothing_about_a_hidden_test(course: Path, student: str) -> None:
    page = read_feedback(course, student)
    assert "HIDDEN" not in page
    assert "isclose" not in page
    assert "-7" not in page
    assert "[7, 0]" not in page


def test_an_input_of_a_hidden_test_that_a_later_cell_prints_is_not_on_the_page(course: Path) -> None:
    assert "KEPT [([1, 2]" in (course / "autograded/keeps/ps1/p1.ipynb").read_text()
    page = read_feedback(course, "keeps")
    assert "left out, since hidden tests ran before" in page
    assert "kept.append" in read_page_text(page)  # the student's own code


def read_feedback(course: Path, student: str) -> str:
    (page,) = write_feedback([read_result(f"sqlite:///{course}/gradebook.db", course, "ps1", student)], course, "ps1")
    return page.read_text()


def test_graded_submissions_are_kept_and_only_changed_ones_are_graded(
    course: Path, two_graders: LocalExecutor, tmp_path: Path
) -> None:
    course = Path(shutil.copytree(course, tmp_path, dirs_exist_ok=True))
    before = {student: load_student_document(course, student).to_json() for student in HANDED_IN}
    assert all(each.kept for each in grade(course, "ps1", two_graders))
    path = course / "submitted/exits/ps1/p1.ipynb"
    path.write_text(answer_notebook(SOURCE, RELEASED | RIGHT | {"value": "a = 7"}))
    outcomes = grade(course, "ps1", two_graders)
    assert [each.student for each in outcomes if not each.kept] == ["exits"]
    assert read_marks(course, "exits")["value_is"] == 1
    assert {s: load_student_document(course, s).to_json() for s in HANDED_IN if s != "exits"} == {
        s: text for s, text in before.items() if s != "exits"
    }
