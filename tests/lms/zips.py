"""Zips of submissions as each LMS makes them."""

import zipfile
from pathlib import Path

from autograder.lms.downloads import collect_zip
from autograder.lms.people import Person

LAB = "01_a"

Outcome = tuple[list[str], list[str]]  # the students whose submissions were collected; a line for each file that wasn't

PEOPLE = [
    Person(id="ada", first_name="Ada", last_name="Lovelace", email="ada@example.org", lms_id="71"),
    Person(id="grace", first_name="Grace", last_name="Hopper", email="grace@example.org"),
]

CANVAS = {
    "lovelaceada_71_1001_01_a.ipynb": b"ada's",
    "lovelaceada_71_1002_data.csv": b"1,2",
    "hoppergrace_LATE_72_1003_01_a-1.ipynb": b"grace's",
}

MOODLE = {
    "Ada Lovelace_501_assignsubmission_file_/01_a.ipynb": b"ada's",
    "Ada Lovelace_501_assignsubmission_file_/data.csv": b"1,2",
    "Grace Hopper_502_assignsubmission_file_my answers.ipynb": b"grace's",
}

METADATA = """
submission_9001:
  :submitters:
  - :name: Ada Lovelace
    :sid: ada
    :email: ada@example.org
  :created_at: 2027-02-01 10:00:00.5 -08:00
  :status: unprocessed
submission_9002:
  :submitters:
  - :name: Grace Hopper
    :sid: 
    :email: grace@example.org
"""

GRADESCOPE = {
    "assignment_1_export/submission_metadata.yml": METADATA.encode(),
    "assignment_1_export/submission_9001/01_a.ipynb": b"ada's",
    "assignment_1_export/submission_9001/data.csv": b"1,2",
    "assignment_1_export/submission_9002/01_a (1).ipynb": b"grace's",
}


def write_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def collect(path: Path, course: Path, lab: str, people: list[Person], replace: bool = False) -> Outcome:
    outcome = collect_zip(path, course, lab, people, replace)
    return outcome.collected, outcome.problems


def read_submitted(course: Path) -> dict[str, bytes]:
    root = course / "submitted"
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


MALLORY = Person(id="mallory", first_name="Mallory", last_name="Mal", lms_id="66")
