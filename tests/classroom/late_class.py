"""A class whose submissions differ: right, wrong, late, loud and broken ones, with penalties by a plugin."""

from pathlib import Path
from typing import Any

from autograder.gradebook.nbgrader_course import open_course
from tests.classroom.graded_class import LAB, WRONG, hand_in

LATE = """
from datetime import datetime
from nbgrader.plugins import LateSubmissionPlugin

class HalfAPoint(LateSubmissionPlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return 0.5 if student_id != "greedy" else 100
"""

PRINTS = "print('line\\n' * 3000)\nimport sys\nsys.stderr.write('a warning')\n1 / 0\n"


def make_class(course: Path) -> None:
    hand_in(course, {"right": None, "wrong": WRONG, "late": None, "greedy": WRONG})
    hand_in(course, {"prints": None}, before=PRINTS)
    for student, time in (("late", "2030-01-02 00:00:00 UTC"), ("greedy", "2030-01-02"), ("right", "2029-12-31")):
        (course / "submitted" / student / LAB / "timestamp.txt").write_text(time)
    (course / "submitted" / "wrong" / LAB / "data").mkdir()
    (course / "submitted" / "wrong" / LAB / "data" / "numbers.csv").write_text("1,2\n")
    (course / "submitted" / "broken" / LAB).mkdir(parents=True)
    (course / "submitted" / "broken" / LAB / f"{LAB}.ipynb").write_text("not a notebook")
    (course / "source" / LAB / "given.txt").write_text("a file of the course")
    (course / "half_a_point.py").write_text(LATE)
    with (course / "nbgrader_config.py").open("a") as config:
        config.write('\nc.AssignLatePenalties.plugin_class = "half_a_point.HalfAPoint"\nc.LimitOutput.max_lines = 50\n')


def open_class(course: Path) -> Any:
    api = open_course(course)
    assert api.api.generate_assignment(LAB, force=True, create=True)["success"]
    with api.api.gradebook as gradebook:
        gradebook.update_or_create_assignment(LAB, duedate="2030-01-01")
    return api
