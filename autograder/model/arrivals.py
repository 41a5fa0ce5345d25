"""Submissions as they lie in nbgrader's exchange, exchange/COURSE/inbound/STUDENT+LAB+TIME: which count, and which not.

What watch marks, what status and the report count as waiting there, and what each of them names is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from autograder.base.text import join_names, make_readable

CLOCKS = timedelta(minutes=10)  # by which clocks may differ, and a copy may take
NEVER = datetime.min


@dataclass(frozen=True)
class Arrival:
    """A submission in the exchange. when: the time that it says, UTC without a zone, as nbgrader keeps times.

    written: when it changed last, by the file system. owner: the uid of its folder. wrong: why it counts for nobody.
    comes: it is so new that it may still be being copied, and `wrong` says what is missing.
    """

    student: str
    lab: str
    when: datetime
    folder: Path
    secret: str = ""
    written: datetime = NEVER
    owner: int = -1
    wrong: str = ""
    comes: bool = False

    @property
    def shown_name(self) -> str:
        """The name of its folder, for a terminal."""
        return make_readable(self.folder.name)


def find_problem(arrival: Arrival, now: datetime) -> str:
    """Why it does not count now; empty where it does."""
    return arrival.wrong or ("its time lies ahead: it counts from then on" if arrival.when > now + CLOCKS else "")


def select_newest(arrivals: Iterable[Arrival], now: datetime) -> list[Arrival]:
    """Of each student and lab the newest that counts, in the order in which they came."""
    last: dict[tuple[str, str], Arrival] = {}
    for arrival in arrivals:
        key = arrival.student, arrival.lab
        if not find_problem(arrival, now) and (key not in last or arrival.when > last[key].when):
            last[key] = arrival
    return sorted(last.values(), key=lambda arrival: arrival.when)


def collect_times(arrivals: Iterable[Arrival], lab: str, now: datetime) -> dict[str, list[datetime]]:
    """student -> when each submission of this lab that counts was handed in."""
    found: dict[str, list[datetime]] = {}
    for arrival in arrivals:
        if arrival.lab == lab and not find_problem(arrival, now):
            found.setdefault(arrival.student, []).append(arrival.when)
    return {student: sorted(times) for student, times in found.items()}


def find_uncollected(times: Mapping[str, list[datetime]], there: Mapping[str, datetime | None]) -> set[str]:
    """Who has one in the exchange that is later than what lies in submitted/. there: its times, by student."""
    return {
        student
        for student, own in times.items()
        if student not in there or ((collected := there[student]) is not None and own[-1] > collected)
    }


def group_by_reason(arrivals: Iterable[Arrival], now: datetime) -> dict[str, list[Arrival]]:
    """why -> those that count for nobody, without what may still be on the way."""
    found: dict[str, list[Arrival]] = {}
    for arrival in arrivals:
        if (why := find_problem(arrival, now)) and not arrival.comes:
            found.setdefault(why, []).append(arrival)
    return found


def describe_uncounted(arrivals: Iterable[Arrival], now: datetime) -> list[str]:
    """What counts for nobody, a line for each reason."""
    return [
        f"in the exchange, and counts for nobody, since {why}: "
        f"{join_names(sorted(arrival.shown_name for arrival in found))}"
        for why, found in group_by_reason(arrivals, now).items()
    ]
