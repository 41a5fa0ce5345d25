"""Submissions in an exchange that a watch marks."""

import json
import subprocess
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.utils import notebook_hash

from autograder.authoring.course_folder import read_course, read_labs
from autograder.demo.students import collect_reference, fill_notebook
from tests.classroom.graded_class import LAB
from tests.classroom.processes import start_gradlab

ONE, TWO, THREE = (f"2026-02-01 10:0{minute}:00.000000 UTC" for minute in (1, 2, 3))


def add_exchange(small_course: Path) -> Path:
    for name in ("inbound", "outbound"):
        (small_course / "exchange" / "gradlab" / name).mkdir(parents=True)
    (small_course / "exchange" / "gradlab" / "outbound" / LAB).mkdir()
    with (small_course / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.Exchange.root = {str(small_course / 'exchange')!r}\nc.ExchangeCollect.check_owner = False\n")
    return small_course


def submit(course: Path, student: str, timestamp: str, source: str | None = None, content: str = "") -> Path:
    """Submit as `nbgrader submit` does, and return the page that the student will fetch. content: instead of a notebook."""
    (lab,) = read_labs(read_course(course))
    notebook = fill_notebook(lab, collect_reference(lab) if source is None else {"sum_of_squares": source})
    folder = course / "exchange" / "gradlab" / "inbound" / f"{student}+{LAB}+{timestamp}+x1"
    folder.mkdir()
    (folder / f"{LAB}.ipynb").write_text(content or json.dumps(notebook))
    (folder / "timestamp.txt").write_text(timestamp)
    secret = f"secret of {student} {timestamp}"
    (folder / "submission_secret.txt").write_text(secret)
    return course / "exchange" / "gradlab" / "feedback" / f"{notebook_hash(secret=secret, notebook_id=LAB)}.html"


def start(course: Path, *options: str) -> subprocess.Popen[str]:
    return start_gradlab(course, "watch", *options)


def read_scores(course: Path) -> dict[str, float]:
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        return {each.student_id: each.score for each in gradebook.assignment_submissions(LAB)}
