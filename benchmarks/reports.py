"""What pages about a large class cost: `gradlab report` of a lab and of the term, `gradlab status`, `gradlab similar`.

To choose the sizes of the classes: `python -m benchmarks.reports 100 1000`.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.result_documents import load_document, write_document
from autograder.gradebook.writer import write_marks
from autograder.model.marks import MarkSheet
from benchmarks.classroom import copy_course, create_course, submit_class
from benchmarks.command_cost import Cost, measure_command
from benchmarks.graders import run_gradlab

COUNTS = (100, 1000)
GRADED = 24  # submissions that are graded; the others are copies of their results, under other names
LAB = "01_tensors"
DUE = datetime(2027, 1, 31, 18)
COMMANDS = {"report": ["report", LAB], "status": ["status"], "term": ["report"], "similar": ["similar", LAB]}


def run(counts: Sequence[int] = COUNTS) -> str:
    """Return a Markdown table with a row for each size of the class."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (lab,) = create_course(base / "course", [LAB])
        lines = []
        for count in counts:
            course = copy_course(base / "course", LAB, base / str(count))
            submit_class(course, lab, GRADED)
            run_gradlab(course, LAB)
            enlarge_class(course, count)
            costs = [measure_page(course, arguments) for arguments in COMMANDS.values()]
            size = (course / "results" / f"{LAB}.html").stat().st_size
            seconds = " | ".join(f"{cost.wall:.1f}" for cost in costs)
            lines.append(f"| {count:,} | {seconds} | {size / 1e6:.2f} |\n")
            shutil.rmtree(course)
    return (
        "# Pages about a class\n\n"
        f"{GRADED} submissions of {LAB}, made of the lab's answers, were graded and copied under other names. Seconds "
        f"of the whole command. Python {platform.python_version()}, {os.cpu_count()} cores.\n\n"
        "| students | gradlab report LAB | gradlab status | gradlab report | gradlab similar LAB "
        "| size of the lab's report, MB |\n|---|---|---|---|---|---|\n" + "".join(lines)
    )


def measure_page(course: Path, arguments: Sequence[str]) -> Cost:
    return measure_command([sys.executable, "-m", "autograder.cli", *arguments], course)


def enlarge_class(course: Path, count: int) -> None:
    """Copy the graded students until there are this many, each with rows, a document, notebooks and a feedback page."""
    graded = sorted(path.name for path in (course / "autograded").iterdir())
    nbgrader_course = open_course(course)
    marks = []
    for number in range(count):
        student, original = f"student_{number:04}", graded[number % len(graded)]
        result = load_document(course, LAB, original)
        assert result is not None
        for folder in ("submitted", "autograded"):
            if student != original:
                shutil.copytree(course / folder / original, course / folder / student)
        if student != original:
            write_document(course, result.model_copy(update={"student": student}))
        (course / "feedback" / student / LAB).mkdir(parents=True)
        (course / "feedback" / student / LAB / f"{LAB}.html").write_text("<!doctype html>")
        submitted = DUE - timedelta(hours=150) + timedelta(minutes=(number * 7919) % 9500)
        marks.append(MarkSheet(student, {cell.id: cell.points for cell in result.cells}, submitted=submitted))
        write_history(course, student, sum(cell.points for cell in result.cells), number % 3)
    with nbgrader_course.api.gradebook as gradebook:
        gradebook.update_or_create_assignment(LAB, duedate=DUE.isoformat())
        write_marks(gradebook, LAB, marks, lambda *_: 1.0, {})


def write_history(course: Path, student: str, points: float, earlier: int) -> None:
    """Write a student's history, with up to two earlier results that earned fewer points."""
    versions = {"gradlab": "0.1.0", "python": "3", "torch": "2"}
    path = course / "results" / LAB / "history" / f"{student}.jsonl"
    path.parent.mkdir(exist_ok=True)
    lines = [
        {"when": f"2027-01-{29 + day}T12:00:00Z", "cause": "grade", "points": points * part, "worth": 30.0}
        for day, part in ((0, 0.3), (1, 0.7), (2, 1.0))[2 - earlier :]
    ]
    path.write_text("".join(json.dumps({**line, "versions": versions}) + "\n" for line in lines))


if __name__ == "__main__":
    print(run([int(number) for number in sys.argv[1:]] or COUNTS))
