"""What `gradlab grade` prints at the end: how many submissions had which outcome, and what a person has to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from shlex import quote

from nbgrader.api import Gradebook, Student
from sqlalchemy import select

from autograder.base.text import format_count, join_names, pluralize
from autograder.classroom.grading_outcome import GradingOutcome
from autograder.gradebook.enrolment import find_unenrolled
from autograder.gradebook.submission_rows import read_submission_rows


@dataclass(frozen=True)
class Summary:
    """Numbers of submissions by outcome."""

    graded: int
    kept: int
    """Submissions whose earlier result still counts."""
    damaged: int
    """Submissions that are damaged or have no notebook."""
    at_limit: int
    """Submissions that ran into a limit."""
    failed: int
    late: int
    waiting: int
    """Submissions that a person has to read."""
    missing: int
    """Students on the roster who didn't submit."""
    uncollected: int = 0
    """Students with a submission in the exchange that isn't in submitted/."""
    unenrolled: tuple[str, ...] = ()
    """The ids of students who submitted, but aren't on the roster."""
    up: int = 0
    """Earlier marks that rose."""
    down: int = 0
    """Earlier marks that fell."""

    def describe(self) -> str:
        changed = self.up + self.down
        parts = [
            (self.kept, "kept"),
            (changed, f"{pluralize('mark', changed)} changed, {self.up} up and {self.down} down"),
            (self.damaged, "damaged"),
            (self.at_limit, "at a limit"),
            (self.late, "late"),
            (self.waiting, "awaiting manual marking"),
            (self.missing, "not submitted"),
            (self.uncollected, "still in the exchange (collect with gradlab watch --once --newest)"),
            (len(self.unenrolled), f"not on the roster ({join_names(self.unenrolled)})"),
            (self.failed, "not graded"),
        ]
        return "; ".join([f"{self.graded} graded", *(f"{number} {words}" for number, words in parts if number)])


def describe_regraded(outcomes: Iterable[GradingOutcome]) -> str:
    """Say why submissions were graded again, the most common reason first; empty if there were none."""
    reasons = [outcome.regrade_reasons for outcome in outcomes if outcome.regrade_reasons]
    counts = Counter(reason for each in reasons for reason in each).most_common()
    summary = ", ".join(f"{reason} ({number})" for reason, number in counts)
    return f"{len(reasons)} graded again: {summary}" if reasons else ""


def list_remarks(outcomes: Iterable[GradingOutcome], lab: str, max_lines: int = 5) -> list[str]:
    """List what the instructor should know about submissions of this run, the most common first, with their number."""
    counts = Counter(remark for outcome in outcomes for remark in outcome.remarks).most_common()
    lines = [
        f"{remark.removesuffix('.')} ({format_count(number, 'submission')})" for remark, number in counts[:max_lines]
    ]
    more = len(counts) - max_lines
    return [*lines, f"and {more} more of this kind: gradlab report {quote(lab)}"] if more > 0 else lines


def read_totals(gradebook: Gradebook, lab: str) -> Mapping[str, float]:
    """Read each student's points for this lab in the gradebook, less the penalty for lateness."""
    return {student: row.points for student, row in read_submission_rows(gradebook, lab).items()}


def summarize_lab(
    gradebook: Gradebook,
    lab: str,
    outcomes: Iterable[GradingOutcome],
    in_exchange: Iterable[str] = (),
    before: Mapping[str, float] | None = None,
) -> Summary:
    """Summarize this run, and what the gradebook has for the whole lab.

    Args:
        outcomes: The outcome of each submission of this run.
        in_exchange: Students with a submission in the exchange that isn't in submitted/.
        before: What read_totals() returned before this run.
    """
    outcomes, uncollected = list(outcomes), set(in_exchange)
    failed = sum(bool(outcome.failure) for outcome in outcomes)
    rows = read_submission_rows(gradebook, lab)
    everyone = set(gradebook.db.scalars(select(Student.id)))
    changes = [round(rows[student].points - points, 4) for student, points in (before or {}).items() if student in rows]
    kept = sum(outcome.kept for outcome in outcomes)
    return Summary(
        graded=len(outcomes) - failed - kept,
        kept=kept,
        damaged=sum(outcome.unreadable for outcome in outcomes),
        at_limit=sum(outcome.at_limit for outcome in outcomes),
        failed=failed,
        late=sum(row.seconds_late > 0 for row in rows.values()),
        waiting=sum(row.needs_manual_grade for row in rows.values()),
        missing=len(everyone - rows.keys() - uncollected - set(find_unenrolled(gradebook, everyone))),
        uncollected=len(uncollected),
        unenrolled=tuple(find_unenrolled(gradebook, rows)),
        up=sum(change > 0 for change in changes),
        down=sum(change < 0 for change in changes),
    )
