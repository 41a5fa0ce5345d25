"""Submissions in nbgrader's exchange, exchange/COURSE/inbound/STUDENT+LAB+TIME, and which of them count.

This module decides what watch marks, and what status and the report count as waiting in the exchange.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from autograder.base.text import join_names, make_readable

CLOCK_TOLERANCE = timedelta(minutes=10)  # how far clocks may differ, and how long a copy may take
NEVER = datetime.min


@dataclass(frozen=True)
class Arrival:
    """A submission in the exchange."""

    student: str
    lab: str
    submitted: datetime
    """The time in its name, in naive UTC, as nbgrader keeps times."""
    folder: Path
    secret: str = ""
    changed_at: datetime = NEVER
    """When it last changed, by the file system."""
    owner: int = -1
    """The uid of its folder."""
    problem: str = ""
    """Why it counts for no one."""
    in_transit: bool = False
    """Whether it's so new that it may still be being copied; `problem` then says what is missing."""

    @property
    def shown_name(self) -> str:
        """The name of its folder, safe to print."""
        return make_readable(self.folder.name)


def describe_collecting(lab: str = "LAB") -> str:
    """Say which commands bring submissions of this lab to submitted/."""
    return f"gradlab watch {lab} --once --newest (from the exchange), or gradlab collect {lab} ZIP (from an LMS)"


def find_problem(arrival: Arrival, now: datetime) -> str:
    """Return the reason why a submission doesn't count now; empty if it does."""
    is_early = arrival.submitted > now + CLOCK_TOLERANCE
    return arrival.problem or ("its time is in the future, and it counts from then on" if is_early else "")


def select_newest(arrivals: Iterable[Arrival], now: datetime) -> list[Arrival]:
    """Return the newest submission that counts of each student and lab, in order of arrival."""
    last: dict[tuple[str, str], Arrival] = {}
    for arrival in arrivals:
        key = arrival.student, arrival.lab
        if not find_problem(arrival, now) and (key not in last or arrival.submitted > last[key].submitted):
            last[key] = arrival
    return sorted(last.values(), key=lambda arrival: arrival.submitted)


def group_times_by_student(arrivals: Iterable[Arrival], lab: str, now: datetime) -> dict[str, list[datetime]]:
    """Return the times at which counting submissions of this lab were submitted, by student.

    Args:
        now: The time in naive UTC. A submission from the future doesn't count yet.
    """
    by_student: dict[str, list[datetime]] = {}
    for arrival in arrivals:
        if arrival.lab == lab and not find_problem(arrival, now):
            by_student.setdefault(arrival.student, []).append(arrival.submitted)
    return {student: sorted(times) for student, times in by_student.items()}


def find_uncollected(times: Mapping[str, list[datetime]], submitted: Mapping[str, datetime | None]) -> set[str]:
    """Return students who have a later submission in the exchange than in submitted/.

    Args:
        times: What is in the exchange, by student, as group_times_by_student() returns it.
        submitted: The times of the submissions in submitted/, by student.
    """
    return {
        student
        for student, in_exchange in times.items()
        if student not in submitted or ((collected := submitted[student]) is not None and in_exchange[-1] > collected)
    }


def group_by_reason(arrivals: Iterable[Arrival], now: datetime) -> dict[str, list[Arrival]]:
    """Return submissions that count for no one, by reason, without those that may still be being copied."""
    by_reason: dict[str, list[Arrival]] = {}
    for arrival in arrivals:
        if (reason := find_problem(arrival, now)) and not arrival.in_transit:
            by_reason.setdefault(reason, []).append(arrival)
    return by_reason


def describe_uncounted(arrivals: Iterable[Arrival], now: datetime) -> list[str]:
    """Return a line for each reason why submissions count for no one."""
    return [
        f"in the exchange, but not counted for any student, since {reason}: "
        f"{join_names(sorted(arrival.shown_name for arrival in group))}"
        for reason, group in group_by_reason(arrivals, now).items()
    ]
