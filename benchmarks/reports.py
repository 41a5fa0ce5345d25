"""What pages about a large class cost: `gradlab report`, `gradlab status`, the term's page and `gradlab similar`.

`python -m benchmarks.reports 100 1000` does it for classes of your choice.
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
from benchmarks.classroom import copy_for, hand_in, new_course
from benchmarks.measure import Cost, cost_of
from benchmarks.paths import gradlab

COUNTS = (100, 1000)
GRADED = 24  # submissions that are really graded; the others are copies of what came of them, under other names
LAB = "01_tensors"
DUE = datetime(2027, 1, 31, 18)
COMMANDS = ("report", "status", "term", "similar")


def run(counts: Sequence[int] = COUNTS) -> str:
    """A Markdown table."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        lab = next(lab for lab in new_course(base / "course") if lab.name == LAB)
        lines = []
        for count in counts:
            course = copy_for(base / "course", LAB, base / str(count))
            hand_in(course, lab, GRADED)
            gradlab(course, LAB)
            multiply(course, count)
            costs = {name: pages(course, name) for name in COMMANDS}
            size = (course / "results" / f"{LAB}.html").stat().st_size
            shown = " | ".join(f"{costs[name].wall:.1f}" for name in COMMANDS)
            lines.append(f"| {count:,} | {shown} | {size / 1e6:.2f} |\n")
            shutil.rmtree(course)
    return (
        "# Pages about a class\n\n"
        f"{LAB}, {GRADED} submissions of its answers, graded, and copied under other names. Seconds of the whole "
        f"command. Python {platform.python_version()}, {os.cpu_count()} cores.\n\n"
        "| students | gradlab report LAB | gradlab status | gradlab report | gradlab similar LAB "
        "| the report's page, MB |\n|---|---|---|---|---|---|\n" + "".join(lines)
    )


def pages(course: Path, name: str) -> Cost:
    arguments = {"report": ["report", LAB], "status": ["status"], "term": ["report"], "similar": ["similar", LAB]}
    return cost_of([sys.executable, "-m", "autograder.cli", *arguments[name]], course)


def multiply(course: Path, count: int) -> None:
    """Make the graded class one of so many, with rows, documents, notebooks and feedback pages of their own."""
    first = sorted(path.name for path in (course / "autograded").iterdir())
    api = open_course(course)
    marks = []
    for number in range(count):
        student, like = f"student_{number:04}", first[number % len(first)]
        result = load_document(course, LAB, like)
        assert result is not None
        for place in ("submitted", "autograded"):
            if student != like:
                shutil.copytree(course / place / like, course / place / student)
        if student != like:
            write_document(course, result.model_copy(update={"student": student}))
        (course / "feedback" / student / LAB).mkdir(parents=True)
        (course / "feedback" / student / LAB / f"{LAB}.html").write_text("<!doctype html>")
        when = DUE - timedelta(hours=150) + timedelta(minutes=(number * 7919) % 9500)
        marks.append(MarkSheet(student, {cell.id: cell.points for cell in result.cells}, submitted=when))
        history(course, student, sum(cell.points for cell in result.cells), number % 3)
    with api.api.gradebook as gradebook:
        gradebook.update_or_create_assignment(LAB, duedate=DUE.isoformat())
        write_marks(gradebook, LAB, marks, lambda *_: 1.0, {})


def history(course: Path, student: str, points: float, earlier: int) -> None:
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
