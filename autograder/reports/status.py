"""The status of each lab as a row of numbers, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from statistics import fmean

from autograder.base.text import format_count
from autograder.base.timestamps import get_utc_now
from autograder.gradebook.class_results import ClassResults
from autograder.model.term import LabTerm, format_minute, to_naive_utc
from autograder.reports.calendar import LabDates
from autograder.reports.class_statistics import MIN_STUDENTS
from autograder.reports.standing import Standing, group_by_standing

RARE = (Standing.UNCOLLECTED, Standing.OLDER, Standing.DAMAGED, Standing.LIMIT, Standing.STRANGER)


@dataclass(frozen=True)
class LabStatus:
    """The numbers of one lab."""

    lab: str
    submitters: int
    """How many students submitted it."""
    graded: int
    counts: dict[Standing, int]
    mean: float | None
    """The mean share of the points; None for fewer than five students."""
    without_page: int
    due: bool = True
    """Whether the due date is past, or there isn't one."""
    limited: bool = False
    """Whether term.toml limits how often a watch marks a student."""
    ended: bool = False
    """Whether a watch has stopped marking."""

    def list_next_steps(self) -> list[str]:
        """Return commands with their reasons, in the order in which to run them."""
        steps = []
        lab = quote(self.lab)
        if uncollected := self.counts[Standing.UNCOLLECTED]:
            is_over = self.due or self.ended  # then term.toml's limits for working students don't matter
            newest = " --newest" if is_over else ""
            count_text = format_count(uncollected, "submission", "is", "are")
            hint = " (--newest adds those that term.toml's limits hold back)" if self.limited and not is_over else ""
            steps.append(f"gradlab watch {lab} --once{newest}: {count_text} in the exchange{hint}")
        if to_grade := self.counts[Standing.TO_GRADE]:
            steps.append(f"gradlab grade {lab}: {format_count(to_grade, 'submission')} to grade")
        if older := self.counts[Standing.OLDER]:
            steps.append(f"gradlab regrade {lab}: {older} marked by an earlier build; it shows what would change")
        if self.counts[Standing.WAITS]:
            steps.append(
                f"gradlab desk: {format_count(self.counts[Standing.WAITS], 'submission')} of {self.lab} to read"
            )
        if self.without_page:
            steps.append(
                f"gradlab feedback {lab}: {format_count(self.without_page, 'submission', 'has', 'have')} no page yet"
            )
        if self.counts[Standing.DAMAGED] or self.counts[Standing.LIMIT]:
            steps.append(f"gradlab report {lab}: which submissions are damaged or at a limit, and why")
        return steps


def compute_status(class_results: ClassResults, limits: LabTerm | None = None) -> LabStatus:
    """Compute the status of a lab.

    Args:
        limits: What term.toml sets for the lab.
    """
    limits = limits or LabTerm()
    due = class_results.due is None or class_results.due <= get_utc_now()
    ended = limits.until is not None and to_naive_utc(limits.until) <= get_utc_now()
    is_withheld = limits.tell != "all" and not (due or ended)  # `gradlab feedback` would show everything
    shares = (
        [member.points / class_results.worth for member in class_results.counting_members]
        if class_results.worth
        else []
    )
    return LabStatus(
        lab=class_results.lab,
        submitters=sum(member.has_submitted for member in class_results.members),
        graded=len(class_results.graded_members),
        counts={standing: len(members) for standing, members in group_by_standing(class_results).items()},
        mean=fmean(shares) if len(shares) >= MIN_STUDENTS else None,
        without_page=0
        if is_withheld
        else sum(not member.page.endswith(".html") for member in class_results.graded_members),
        due=due,
        limited=limits.attempts is not None or limits.wait_minutes > 0,
        ended=ended,
    )


def collect_next_steps(statuses: Sequence[LabStatus]) -> list[str]:
    return [step for status in statuses for step in status.list_next_steps()]


def list_first_steps(statuses: Sequence[LabStatus], released: bool = True) -> list[str]:
    """Return commands to run before anyone has submitted.

    Args:
        statuses: The labs that the gradebook knows.
        released: Whether at least one of them is released.
    """
    if not statuses:
        add = "nbgrader db assignment add LAB --duedate '2027-02-01 18:00 UTC' (without a date, no one is late)"
        return [f"{add}, nbgrader generate_assignment LAB, nbgrader release_assignment LAB"]
    if not released:
        lab = statuses[0].lab
        return [f"nbgrader generate_assignment {lab}, nbgrader release_assignment {lab}: no student has it yet"]
    return ["gradlab watch, while they work; gradlab watch LAB --once --newest, after the deadline"]


def build_numbers_table(statuses: Sequence[LabStatus]) -> tuple[list[str], list[list[str]]]:
    """Return the head and rows of a table of the numbers, without rare columns whose numbers are all 0."""
    columns: dict[str, list[str]] = {
        "submitted": [str(status.submitters) for status in statuses],
        "graded": [str(status.graded) for status in statuses],
        **{standing: [str(status.counts[standing] or "") for status in statuses] for standing in Standing},
        "mean": ["" if status.mean is None else f"{status.mean:.0%}" for status in statuses],
    }
    shown = {head: cells for head, cells in columns.items() if head not in RARE or any(cells)}
    rows = [list(row) for row in zip([status.lab for status in statuses], *shown.values(), strict=True)]
    return ["lab", *shown], rows


def build_dates_table(labs: Sequence[LabDates]) -> tuple[list[str], list[list[str]]]:
    """Return the head and rows of the calendar, without columns that are empty for all labs; no rows if all are."""
    columns = {
        "due, UTC": [format_minute(lab.due) if lab.due else "" for lab in labs],
        "marked until": [format_minute(lab.watched_until) if lab.watched_until else "" for lab in labs],
        "times marked": [lab.tries for lab in labs],
        "solutions from": [format_minute(lab.solutions) if lab.solutions else "" for lab in labs],
        "extensions": [str(len(lab.extensions) or "") for lab in labs],
        "counts": ["practice, in no total" if lab.practice else "" for lab in labs],
    }
    shown = {head: cells for head, cells in columns.items() if any(cells)}
    rows = [list(row) for row in zip([lab.lab for lab in labs], *shown.values(), strict=True)]
    return ["lab", *shown], rows if shown else []
