"""What `gradlab grade` prints at its end: how many submissions had which outcome, and what a person has to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from shlex import quote
from typing import Any

from nbgrader.api import Grade, Student, SubmittedAssignment, SubmittedNotebook
from sqlalchemy import func, select

from autograder.base.text import format_count, join_names
from autograder.classroom.outcomes import GradingOutcome
from autograder.gradebook.enrolment import find_strangers


@dataclass(frozen=True)
class Summary:
    """Numbers of submissions by outcome."""

    graded: int
    kept: int
    """Those whose earlier result still counts."""
    empty: int
    """Damaged ones, and those without a notebook."""
    stopped: int
    """Those that ran into a limit."""
    failed: int
    late: int
    waiting: int
    """Those that a person has to read."""
    missing: int
    """Students on the roster who did not hand in."""
    uncollected: int = 0
    """Students with a submission in the exchange that isn't in submitted/."""
    strangers: tuple[str, ...] = ()
    """The ids of students who handed in, but aren't on the roster."""
    up: int = 0
    """Earlier marks that rose."""
    down: int = 0
    """Earlier marks that fell."""

    def words(self) -> str:
        parts = [
            (self.kept, "kept from before"),
            (moved := self.up + self.down, f"mark{'s' * (moved != 1)} changed, {self.up} up and {self.down} down"),
            (self.empty, "damaged"),
            (self.stopped, "at a limit"),
            (self.late, "late"),
            (self.waiting, "to be read by a person"),
            (self.missing, "not handed in"),
            (self.uncollected, "still in the exchange (gradlab watch --once --newest brings them in)"),
            (len(self.strangers), f"not on the roster ({join_names(self.strangers)})"),
            (self.failed, "not graded"),
        ]
        return "; ".join([f"{self.graded} graded", *(f"{number} {words}" for number, words in parts if number)])


def describe_regraded(done: Iterable[GradingOutcome]) -> str:
    """Why submissions were graded again, the commonest reason first; empty if there were none."""
    reasons = [each.anew for each in done if each.anew]
    counts = Counter(reason for each in reasons for reason in each).most_common()
    said = ", ".join(f"{reason} ({number})" for reason, number in counts)
    return f"{len(reasons)} graded anew: {said}" if reasons else ""


def list_remarks(done: Iterable[GradingOutcome], lab: str, most: int = 5) -> list[str]:
    """What the instructor should know about submissions of this run, the commonest first, each with their number."""
    counts = Counter(remark for each in done for remark in each.remarks).most_common()
    lines = [f"{remark.removesuffix('.')} ({format_count(number, 'submission')})" for remark, number in counts[:most]]
    more = len(counts) - most
    return [*lines, f"and {more} more of this kind: gradlab report {quote(lab)}"] if more > 0 else lines


def read_points(gradebook: Any, lab: str) -> Mapping[str, float]:
    """Each student's points for this lab in the gradebook, less what lateness costs."""
    assignment = SubmittedAssignment.assignment_id == gradebook.find_assignment(lab).id
    notebooks = select(SubmittedAssignment.student_id).where(assignment).join(SubmittedAssignment.notebooks)
    given = func.coalesce(Grade.manual_score, Grade.auto_score, 0) + func.coalesce(Grade.extra_credit, 0)
    taken = func.coalesce(SubmittedNotebook.late_submission_penalty, 0)
    found: Counter[str] = Counter()
    for query in (notebooks.join(SubmittedNotebook.grades).add_columns(given), notebooks.add_columns(-taken)):
        for student, points in gradebook.db.execute(query):
            found[student] += points
    return found


def summarize_lab(
    gradebook: Any,
    lab: str,
    done: Iterable[GradingOutcome],
    waiting_there: Iterable[str] = (),
    before: Mapping[str, float] | None = None,
) -> Summary:
    """Summarize this run, and what the gradebook has for the whole lab.

    Args:
        done: The outcome of each submission of this run.
        waiting_there: Students with a submission in the exchange that isn't in submitted/.
        before: What read_points() returned before this run.
    """
    done, uncollected = list(done), set(waiting_there)
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
    everybody = set(gradebook.db.scalars(select(Student.id)))
    handed_in = {submission.student_id for submission in submissions}
    now = read_points(gradebook, lab) if before else {}
    moved = [round(now[student] - points, 4) for student, points in (before or {}).items() if student in now]
    return Summary(
        graded=len(done) - failed - sum(each.kept for each in done),
        kept=sum(each.kept for each in done),
        empty=sum(each.empty for each in done),
        stopped=sum(each.stopped for each in done),
        failed=failed,
        late=sum(submission.total_seconds_late > 0 for submission in submissions),
        waiting=sum(submission.id in waiting for submission in submissions),
        missing=len(everybody - handed_in - uncollected - set(find_strangers(gradebook, everybody))),
        uncollected=len(uncollected),
        strangers=tuple(find_strangers(gradebook, handed_in)),
        up=sum(by > 0 for by in moved),
        down=sum(by < 0 for by in moved),
    )
