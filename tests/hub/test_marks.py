"""A class on a hub gets the marks that `gradlab grade` gives for the same submissions, in every row of the gradebook.

Slow: a hub starts, and a class of a whole lab is graded twice.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.authoring.course_folder import read_course, read_labs
from autograder.demo import students
from autograder.demo.students import collect_reference, fill_notebook, make_class
from autograder.model.course import Lab
from labext.exchange_client import ExchangeClient
from tests.conftest import ROOT
from tests.hub.hub_process import RunningHub, release_lab, run_hub
from tests.waiting import wait_until

Rows = dict[tuple[str, str], tuple[object, ...]]
SENDERS = 4  # students who submit at the same time


def make_course(folder: Path) -> Lab:
    """Copy the course with its first lab."""
    lab = next(iter(read_labs(read_course(ROOT))))
    folder.mkdir()
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    for part in ("labs", "source", "release"):
        (folder / part).mkdir()
        shutil.copytree(ROOT / part / lab.name, folder / part / lab.name)
    return lab


def collect_files(lab: Lab) -> dict[str, bytes | None]:
    """Each student's notebook, by a name that says what it is; None for a folder without one."""
    files: dict[str, bytes | None] = {each.student: each.file for each in make_class(lab)}
    right = collect_reference(lab)
    for exercise in lab.exercises:
        for number, liar in enumerate(answer for answer in exercise.answers if answer.liar):
            source = {**right, exercise.name: liar.source}
            files[f"lied_{exercise.name}_{number}"] = json.dumps(fill_notebook(lab, source)).encode()
    return files | {"empty": b"", "other_file": None}


def write_submission(folder: Path, lab: Lab, file: bytes | None) -> Path:
    """Write what a student submits, as the exchange stores it."""
    shutil.copytree(ROOT / "release" / lab.name, folder)
    notebook = folder / f"{lab.name}.ipynb"
    if file is None:
        notebook.rename(folder / "my_lab.ipynb")
    else:
        notebook.write_bytes(file)
    return folder


def submit_all(hub: RunningHub, lab: Lab, files: Mapping[str, bytes | None], place: Path) -> None:
    def submit(student: str) -> None:
        client = ExchangeClient(hub.exchange, hub.log_in(student).draw_token())
        client.submit_folder("gradlab", lab.name, write_submission(place / student, lab, files[student]))

    with ThreadPoolExecutor(SENDERS) as senders:
        list(senders.map(submit, files))


def read_rows(course: Path, lab: str) -> Rows:
    """Every mark of the class, by student and cell."""
    rows: Rows = {}
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        for submission in gradebook.assignment_submissions(lab):
            rows[submission.student_id, ""] = (submission.score, submission.max_score, submission.needs_manual_grade)
            for notebook in submission.notebooks:
                for each in notebook.grades:
                    score = (each.auto_score, each.manual_score, each.extra_credit, each.needs_manual_grade)
                    rows[submission.student_id, each.name] = (*score, each.max_score)
                for comment in notebook.comments:
                    rows[submission.student_id, f"comment on {comment.name}"] = (comment.auto_comment,)
    return rows


def has_marked_all(hub: RunningHub) -> bool:
    """Whether the teachers' page says that no submission waits."""
    page = hub.log_in("prof").get("/services/teach-gradlab/gradlab/desk/status").text
    return bool(re.search(r'<th scope="row">Waiting</th><td><span[^>]*></span>\s*no submission<', page))


@pytest.mark.slow
@pytest.mark.nightly
def test_no_mark_of_a_class_on_a_hub_differs_from_that_of_gradlab_grade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What the demo expects takes a minute to compute, and isn't compared here.
    monkeypatch.setattr(students, "compute_notebook_points", lambda lab, _: {e.name: 0.0 for e in lab.exercises})
    lab = make_course(tmp_path / "online")
    files = collect_files(lab)
    roster = tmp_path / "roster.csv"
    roster.write_text("id\n" + "".join(f"{student}\n" for student in files))
    shutil.copytree(tmp_path / "online", tmp_path / "alone")
    with run_hub(tmp_path / "online", tmp_path, roster=str(roster)) as hub:
        release_lab(hub.course, lab.name)
        submit_all(hub, lab, files, tmp_path / "sent")
        wait_until(lambda: has_marked_all(hub), "the watch has marked everything")
        marked = read_rows(hub.course, lab.name)

    for student, file in files.items():
        write_submission(tmp_path / "alone" / "submitted" / student / lab.name, lab, file)
    command = [sys.executable, "-m", "autograder.cli", "grade", lab.name]
    subprocess.run(command, cwd=tmp_path / "alone", check=False, capture_output=True)
    expected = read_rows(tmp_path / "alone", lab.name)
    assert {student for student, _ in expected} == set(files)
    assert marked == expected
