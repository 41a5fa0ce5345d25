"""A class that submits a small lab, graded as `gradlab grade` does: by nbgrader, in one course folder."""

import json
import shutil
from pathlib import Path
from typing import Any

from autograder.authoring.course_folder import build_course, read_course, read_labs
from autograder.classroom.open_class import grade_lab
from autograder.demo.students import collect_reference, fill_notebook
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.result_reader import read_results
from autograder.gradebook.submission_result import SubmissionResult
from tests.conftest import ROOT
from tests.lab_files import write_files


def make_course(root: Path, lab: str, source: str) -> dict[str, Any]:
    """Build a course of one lab in this folder, and return its sound submission. source: as split_files() takes it."""
    (root / "labs" / lab).mkdir(parents=True)
    (root / "labs" / "course.toml").write_text(
        f'title = "A small course"\n\n[[labs]]\nname = "{lab}"\ntitle = "Small"\nminutes = 5\n'
    )
    write_files(root / "labs" / lab, source)
    shutil.copy(ROOT / "nbgrader_config.py", root)
    build_course(read_course(root))
    built = next(read_labs(read_course(root)))
    sound: dict[str, Any] = json.loads(json.dumps(fill_notebook(built, collect_reference(built))))
    return sound


def make_folder(root: Path, student: str, lab: str) -> Path:
    """Create the empty folder of a submission."""
    folder = root / "submitted" / student / lab
    folder.mkdir(parents=True)
    return folder


def grade(root: Path, lab: str) -> tuple[dict[str, SubmissionResult], dict[str, str]]:
    """(student -> result, student -> why the submission couldn't be graded)."""
    api = open_course(root)
    failures = {outcome.student: outcome.failure for outcome in grade_lab(api, lab) if outcome.failure}
    return {r.student: r for r in read_results(api.db_url, root, lab)}, failures
