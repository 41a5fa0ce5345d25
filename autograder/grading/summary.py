"""What `gradlab grade` says at its end: how many submissions came to what, and what waits for a person."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbgrader.api import Grade, Student, SubmittedAssignment, SubmittedNotebook
from sqlalchemy import select

from autograder.gradebook.roster import not_on_roster
from autograder.grading.class_writer import Done

MOST = 5  # names in one line


@dataclass(frozen=True)
class Summary:
    """Numbers of submissions. empty: damaged, or no notebook. stopped: at a limit. waiting: for a person to read.

    missing: students of the gradebook who did not hand in. strangers: who did, and are not on the roster.
    """

    graded: int
    kept: int
    empty: int
    stopped: int
    failed: int
    late: int
    waiting: int
    missing: int
    strangers: int = 0

    def words(self) -> str:
        parts = [
            (self.kept, "kept from before"),
            (self.empty, "damaged"),
            (self.stopped, "at a limit"),
            (self.late, "late"),
            (self.waiting, "to be read by a person"),
            (self.missing, "not handed in"),
            (self.strangers, "not on the roster"),
            (self.failed, "not graded"),
        ]
        return "; ".join([f"{self.graded} graded", *(f"{number} {words}" for number, words in parts if number)])


def anew_words(done: Iterable[Done]) -> str:
    """Why what had been graded was graded anew, commonest first; empty where nothing was."""
    reasons = [each.anew for each in done if each.anew]
    counts = Counter(reason for each in reasons for reason in each).most_common()
    said = ", ".join(f"{reason} ({number})" for reason, number in counts)
    return f"{len(reasons)} graded anew: {said}" if reasons else ""


def summary_of(gradebook: Any, lab: str, done: Iterable[Done]) -> Summary:
    """done: what came of each submission of this run; what the gradebook says is of the whole lab."""
    done = list(done)
    failed = sum(bool(each.failure) for each in done)
    assignment = gradebook.find_assignment(lab).id
    mine = select(SubmittedAssignment).where(SubmittedAssignment.assignment_id == assignment)
    submissions = list(gradebook.db.scalars(mine))
    waits = (
        select(SubmittedNotebook.assignment_id)
        .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
        .where(Grade.needs_manual_grade)
    )
    waiting = set(gradebook.db.scalars(waits))
    handed_in = {submission.student_id for submission in submissions}
    return Summary(
        graded=len(done) - failed - sum(each.kept for each in done),
        kept=sum(each.kept for each in done),
        empty=sum(each.empty for each in done),
        stopped=sum(each.stopped for each in done),
        failed=failed,
        late=sum(submission.total_seconds_late > 0 for submission in submissions),
        waiting=sum(submission.id in waiting for submission in submissions),
        missing=len(set(gradebook.db.scalars(select(Student.id))) - handed_in),
        strangers=len(not_on_roster(gradebook, handed_in)),
    )


def stray(course: Path, assignments: Sequence[str]) -> list[str]:
    """What in submitted/ nobody will grade, and ids that look alike, a line each."""
    found, alike = [], dict[str, list[str]]()
    for folder in sorted((course / "submitted").glob("*")):
        if not folder.is_dir():
            found.append(f"submitted/{folder.name} is no student's folder, and was left alone")
            continue
        alike.setdefault(unicodedata.normalize("NFKC", folder.name).casefold().strip(), []).append(folder.name)
        inside = sorted(path.name for path in folder.iterdir() if path.is_dir())
        unknown = [name for name in inside if name not in assignments]
        if unknown:
            names = ", ".join(unknown[:MOST])
            found.append(
                f"submitted/{folder.name}/ holds {names}, which is no assignment: a submission lies in "
                "submitted/STUDENT/LAB/LAB.ipynb"
            )
        elif not inside:
            found.append(f"submitted/{folder.name}/ holds no submission")
    for ids in alike.values():
        if len(ids) > 1:
            found.append(f"{' and '.join(ids)} look like one student: each gets a mark of its own")
    return found
