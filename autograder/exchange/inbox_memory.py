"""Remembers what earlier looks into the inbox found, so the next one opens only what has changed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from autograder.model.arrivals import Arrival

Owner = tuple[str, int | str]  # lab, and uid or name: submissions of one owner are counted together


@dataclass
class IncompleteArrival:
    """A folder that wasn't complete when it was last opened."""

    arrival: Arrival
    """What was found, with the problem."""
    change_time: int
    """The folder's change time then, in nanoseconds."""
    is_abandoned: bool
    """Whether nothing more is expected: it's opened again only once its change time differs."""


@dataclass
class InboxMemory:
    """What is known about the folders in the inbox, by name."""

    arrivals: dict[str, Arrival] = field(default_factory=dict)
    """Submissions that need no further look."""
    incomplete: dict[str, IncompleteArrival] = field(default_factory=dict)
    """Folders that may still become complete."""
    skipped: set[str] = field(default_factory=set)
    """Folders that are never opened: they aren't submissions, or exceed what one owner may submit."""
    counts: Counter[Owner] = field(default_factory=Counter)
    """How many arrivals and incomplete folders each owner has had."""

    def forget_vanished(self, present: set[str]) -> None:
        """Forget folders that are gone, since anyone can make and remove folders without end.

        Args:
            present: The names of all folders that the last look found.
        """
        for table in (self.arrivals, self.incomplete):
            for name in table.keys() - present:
                table.pop(name)
        self.skipped &= present
        # The machine's users are few and stay counted, but anyone can make up other names.
        named = {(arrival.lab, arrival.student) for arrival in self.arrivals.values()}
        named |= {(folder.arrival.lab, folder.arrival.student) for folder in self.incomplete.values()}
        for owner in [owner for owner in self.counts if isinstance(owner[1], str) and owner not in named]:
            del self.counts[owner]
