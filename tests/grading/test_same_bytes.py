"""Two honest runs of the same class give the same bytes: results, autograded notebooks, feedback pages and marks."""

import re
import shutil
from itertools import islice
from pathlib import Path

import pytest

from autograder.authoring.course_folder import build, read_course, read_labs
from autograder.demo.students import make_class
from autograder.gradebook.reader import read_results
from autograder.grading.nbgrader_api import open_course
from autograder.grading.whole_lab import grade_lab
from autograder.reports.feedback import write_feedback
from tests.conftest import NIGHTLY, ROOT

MEMBERS = 6 if NIGHTLY else 2  # from the third on, the class's points are proved: 12 s each
MEMORY_ADDRESS = re.compile(rb"0x[0-9a-f]{8,}")


def graded(course: Path, lab: str) -> dict[str, bytes]:
    """Every file that grading wrote, but the gradebook's own, whose marks stand in the pages."""
    for folder in ("autograded", "feedback", "results"):
        shutil.rmtree(course / folder, ignore_errors=True)
    (course / "gradebook.db").unlink(missing_ok=True)
    api = open_course(course)
    assert not any(result.failure for result in grade_lab(api, lab))
    write_feedback(read_results(api.coursedir.db_url, course, lab), course, lab)
    folders = [course / name for name in ("autograded", "feedback", "results")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and path.name[0] != "."]
    return {str(path.relative_to(course)): MEMORY_ADDRESS.sub(b"0x", path.read_bytes()) for path in files}


@pytest.mark.slow
def test_two_runs_of_a_class_write_the_same_bytes(tmp_path: Path) -> None:
    """Slow: a lab that compiles is graded twice."""
    shutil.copytree(ROOT / "labs", tmp_path / "labs", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    build(read_course(tmp_path))
    lab = list(read_labs(read_course(tmp_path)))[-1]
    for member in islice(make_class(lab), MEMBERS):
        place = tmp_path / "submitted" / member.student / lab.name
        place.mkdir(parents=True)
        (place / f"{lab.name}.ipynb").write_bytes(member.file)
    first, second = graded(tmp_path, lab.name), graded(tmp_path, lab.name)
    assert len(first) == 3 * MEMBERS
    for name, content in first.items():
        assert content.splitlines() == second[name].splitlines(), name
    assert first.keys() == second.keys()
