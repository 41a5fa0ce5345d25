"""Two honest runs of the same class give the same bytes: results, autograded notebooks, feedback pages and marks."""

import re
import shutil
from itertools import islice
from pathlib import Path

import pytest

from autograder.authoring.course_folder import read_course, read_labs
from autograder.classroom.open_class import grade_lab
from autograder.demo.students import make_class
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.result_reader import read_results
from autograder.reports.feedback import write_feedback
from tests.conftest import ROOT

LAB, MEMBERS = -1, 6  # the last lab, which compiles
# Addresses in memory, and times in the history of marks.
OF_A_RUN = re.compile(rb'0x[0-9a-f]{8,}|"when":"[^"]+"')


def grade_class(course: Path, lab: str) -> dict[str, bytes]:
    """Every file that grading wrote except the gradebook, whose marks are in the pages."""
    for folder in ("autograded", "feedback", "results"):
        shutil.rmtree(course / folder, ignore_errors=True)
    (course / "gradebook.db").unlink(missing_ok=True)
    api = open_course(course)
    assert not any(result.failure for result in grade_lab(api, lab))
    write_feedback(read_results(api.db_url, course, lab), course, lab)
    folders = [course / name for name in ("autograded", "feedback", "results")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and path.name[0] != "."]
    return {str(path.relative_to(course)): OF_A_RUN.sub(b"", path.read_bytes()) for path in files}


@pytest.mark.slow
@pytest.mark.nightly
def test_two_runs_of_a_class_write_the_same_bytes(tmp_path: Path) -> None:
    """Slow: a whole lab is graded twice. By day test_cluster.py and test_resume.py compare what two runs wrote."""
    name = read_course(ROOT).labs[LAB].name
    (lab,) = read_labs(read_course(ROOT), (name,))
    for folder in ("labs", f"source/{name}", f"release/{name}"):  # as they are built, which another test checks
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    for member in islice(make_class(lab), MEMBERS):
        place = tmp_path / "submitted" / member.student / lab.name
        place.mkdir(parents=True)
        (place / f"{lab.name}.ipynb").write_bytes(member.file)
    first, second = grade_class(tmp_path, lab.name), grade_class(tmp_path, lab.name)
    assert len(first) == 4 * MEMBERS, "a result, its history, a notebook and a page"
    for name, content in first.items():
        assert content.splitlines() == second[name].splitlines(), name
    assert first.keys() == second.keys()
