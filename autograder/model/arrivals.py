"""Submissions in nbgrader's exchange, exchange/COURSE/inbound/STUDENT+LAB+TIME, and which of them count.

This module decides what watch marks, and what status and the report count as waiting in the exchange.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from autograder.base.text import join_names, make_readable

CLOCKS = timedelta(minutes=10)  # how far clocks may differ, and how long a copy may take
NEVER = datetime.min


@dataclass(frozen=True)
class Arrival:
    """A submission in the exchange."""

    student: str
    lab: str
    when: datetime
    """The time that its name gives, UTC without a zone, as nbgrader keeps times."""
    folder: Path
    secret: str = ""
    written: datetime = NEVER
    """When it last changed, by the file system."""
    owner: int = -1
    """The uid of its folder."""
    wrong: str = ""
    """Why it counts for no one."""
    comes: bool = False
    """Whether it is so new that it may still be being copied; `wrong` then says what is missing."""

    @property
    def shown_name(self) -> str:
        """The name of its folder, safe to print."""
        return make_readable(self.folder.name)


def find_problem(arrival: Arrival, now: datetime) -> str:
    """The reason why it doesn't count now; empty if it does."""
    return arrival.wrong or ("its time lies ahead: it counts from then on" if arrival.when > now + CLOCKS else "")


def select_newest(arrivals: Iterable[Arrival], now: datetime) -> list[Arrival]:
    """The newest that counts of each student and lab, in order of arrival."""
    last: dict[tuple[str, str], Arrival] = {}
    for arrival in arrivals:
        key = arrival.student, arrival.lab
        if not find_problem(arrival, now) and (key not in last or arrival.when > last[key].when):
            last[key] = arrival
    return sorted(last.values(), key=lambda arrival: arrival.when)


def collect_times(arrivals: Iterable[Arrival], lab: str, now: datetime) -> dict[str, list[datetime]]:
    """The times at which submissions of this lab that count were handed in, by student."""
    found: dict[str, list[datetime]] = {}
    for arrival in arrivals:
        if arrival.lab == lab and not find_problem(arrival, now):
            found.setdefault(arrival.student, []).append(arrival.when)
    return {student: sorted(times) for student, times in found.items()}


def find_uncollected(times: Mapping[str, list[datetime]], there: Mapping[str, datetime | None]) -> set[str]:
    """Students who have a later submission in the exchange than in submitted/.

    Args:
        times: What is in the exchange, by student, as collect_times() returns it.
        there: The times of the submissions in submitted/, by student.
    """
    return {
        student
        for student, own in times.items()
        if student not in there or ((collected := there[student]) is not None and own[-1] > collected)
    }


def group_by_reason(arrivals: Iterable[Arrival], now: datetime) -> dict[str, list[Arrival]]:
    """Submissions that count for no one, by reason, without those that may still be being copied."""
    found: dict[str, list[Arrival]] = {}
    for arrival in arrivals:
        if (why := find_problem(arrival, now)) and not arrival.comes:
            found.setdefault(why, []).append(arrival)
    return found


def describe_uncounted(arrivals: Iterable[Arrival], now: datetime) -> list[str]:
    """What counts for no one, a line for each reason."""
    return [
        f"in the exchange, and counts for nobody, since {why}: "
        f"{join_names(sorted(arrival.shown_name for arrival in found))}"
        for why, found in group_by_reason(arrivals, now).items()
    ]
