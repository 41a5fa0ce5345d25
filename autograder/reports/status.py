"""The status of each lab, in a row of numbers, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from statistics import fmean

from autograder.base.text import format_count
from autograder.base.timestamps import get_utc_now
from autograder.gradebook.class_schema import LabClass
from autograder.model.term import LabTerm, format_minute, to_naive_utc
from autograder.reports.calendar import Dates
from autograder.reports.class_statistics import FEW
from autograder.reports.standing import Standing, group_by_standing

SELDOM = (Standing.UNCOLLECTED, Standing.OLDER, Standing.DAMAGED, Standing.LIMIT, Standing.STRANGER)


@dataclass(frozen=True)
class LabStatus:
    """The numbers of one lab."""

    lab: str
    handed_in: int
    graded: int
    counts: dict[Standing, int]
    mean: float | None
    """The mean share of the points; None for fewer than five students."""
    without_page: int
    due: bool = True
    """Whether the due date is past, or there isn't one."""
    limited: bool = False
    """Whether term.toml limits what a watch marks."""
    ended: bool = False
    """Whether a watch has stopped marking."""

    def list_next_steps(self) -> list[str]:
        """Commands with their reasons, in the order in which to run them."""
        steps = []
        lab = quote(self.lab)
        if uncollected := self.counts[Standing.UNCOLLECTED]:
            all_of_them = self.due or self.ended  # whatever term.toml limits while students work
            newest = " --newest" if all_of_them else ""
            held = self.limited and not all_of_them
            left = " (with --newest also what attempts and waits hold back)" if held else ""
            number = format_count(uncollected, "submission", "waits", "wait")
            steps.append(f"gradlab watch {lab} --once{newest}: {number} in the exchange{left}")
        if to_grade := self.counts[Standing.TO_GRADE]:
            steps.append(f"gradlab grade {lab}: {format_count(to_grade, 'submission', 'waits', 'wait')} for it")
        if older := self.counts[Standing.OLDER]:
            steps.append(f"gradlab regrade {lab}: {older} marked by an earlier build; it shows what would change")
        if self.counts[Standing.WAITS]:
            steps.append(f"gradlab desk: {self.counts[Standing.WAITS]} of {self.lab} to be read")
        if self.without_page:
            steps.append(
                f"gradlab feedback {lab}: {format_count(self.without_page, 'submission', 'has', 'have')} no page yet"
            )
        if self.counts[Standing.DAMAGED] or self.counts[Standing.LIMIT]:
            steps.append(f"gradlab report {lab}: who is damaged or at a limit, and why")
        return steps


def compute_status(group: LabClass, limits: LabTerm | None = None) -> LabStatus:
    """The status of a lab.

    Args:
        limits: What term.toml sets for the lab.
    """
    limits = limits or LabTerm()
    due = group.due is None or group.due <= get_utc_now()
    ended = limits.until is not None and to_naive_utc(limits.until) <= get_utc_now()
    untold = limits.tell != "all" and not (due or ended)  # `gradlab feedback` would show it
    shares = [member.points / group.worth for member in group.counted] if group.worth else []
    return LabStatus(
        lab=group.lab,
        handed_in=sum(member.handed_in for member in group.members),
        graded=len(group.graded),
        counts={standing: len(members) for standing, members in group_by_standing(group).items()},
        mean=fmean(shares) if len(shares) >= FEW else None,
        without_page=0 if untold else sum(not member.page.endswith(".html") for member in group.graded),
        due=due,
        limited=limits.attempts is not None or limits.wait_minutes > 0,
        ended=ended,
    )


def collect_next_steps(found: Sequence[LabStatus]) -> list[str]:
    return [step for status in found for step in status.list_next_steps()]


def list_first_steps(found: Sequence[LabStatus], released: bool = True) -> list[str]:
    """Commands for when no one has handed in yet.

    Args:
        found: The labs that the gradebook knows.
        released: Whether at least one of them is released.
    """
    if not found:
        due = "nbgrader db assignment add LAB --duedate '2027-02-01 18:00 UTC' (nobody is late without)"
        return [f"{due}, nbgrader generate_assignment LAB, nbgrader release_assignment LAB"]
    if not released:
        lab = found[0].lab
        return [f"nbgrader generate_assignment {lab}, nbgrader release_assignment {lab}: no student has it yet"]
    return ["gradlab watch, while they work; gradlab watch LAB --once --newest, after the deadline"]


def build_numbers_table(found: Sequence[LabStatus]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a table of the numbers. Unusual columns are left out if all their numbers are 0."""
    columns: dict[str, list[str]] = {
        "handed in": [str(each.handed_in) for each in found],
        "graded": [str(each.graded) for each in found],
        **{standing: [str(each.counts[standing] or "") for each in found] for standing in Standing},
        "mean": ["" if each.mean is None else f"{each.mean:.0%}" for each in found],
    }
    shown = {head: cells for head, cells in columns.items() if head not in SELDOM or any(cells)}
    return ["lab", *shown], [list(row) for row in zip([each.lab for each in found], *shown.values(), strict=True)]


def build_dates_table(found: Sequence[Dates]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the calendar, without columns that are empty for all labs; no rows if all columns are."""
    columns = {
        "due, UTC": [format_minute(each.due) if each.due else "" for each in found],
        "marked until": [format_minute(each.watched_until) if each.watched_until else "" for each in found],
        "times marked": [each.tries for each in found],
        "solutions from": [format_minute(each.solutions) if each.solutions else "" for each in found],
        "extensions": [str(len(each.extensions) or "") for each in found],
        "counts": ["practice, in no total" if each.practice else "" for each in found],
    }
    shown = {head: cells for head, cells in columns.items() if any(cells)}
    rows = [list(row) for row in zip([each.lab for each in found], *shown.values(), strict=True)]
    return ["lab", *shown], rows if shown else []
