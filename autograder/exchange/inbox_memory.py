"""What earlier looks into the inbox found, so that the next one opens only what changed since."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from autograder.model.arrivals import Arrival

Owner = tuple[str, int | str]  # (lab, uid or name): whose submissions of a lab are counted together


@dataclass
class Incomplete:
    """A folder that was not whole when it was opened last.

    Attributes:
        arrival: What was found, with the reason.
        changed: The folder's change time then, in nanoseconds.
        given_up: Whether nothing more is expected: it is opened again only once its change time is another.
    """

    arrival: Arrival
    changed: int
    given_up: bool


@dataclass
class InboxMemory:
    """Names of folders with what is known of them.

    Attributes:
        known: Those that need no further look.
        incomplete: Those that may still become whole.
        skipped: Those that are no submission, or beyond what one owner may hand in: they are never opened.
        counts: How many folders each owner has had among the first two.
    """

    known: dict[str, Arrival] = field(default_factory=dict)
    incomplete: dict[str, Incomplete] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    counts: Counter[Owner] = field(default_factory=Counter)

    def forget_vanished(self, present: set[str]) -> None:
        """Keep what is known of these names only: anyone can make folders and remove them, without end.

        Args:
            present: Names of all folders that the last look found.
        """
        for table in (self.known, self.incomplete):
            for name in table.keys() - present:
                table.pop(name)
        self.skipped &= present
        # Users of this machine are few, and stay counted; other names anyone can make up.
        named = {(arrival.lab, arrival.student) for arrival in self.known.values()}
        named |= {(each.arrival.lab, each.arrival.student) for each in self.incomplete.values()}
        for owner in [each for each in self.counts if isinstance(each[1], str) and each not in named]:
            del self.counts[owner]
