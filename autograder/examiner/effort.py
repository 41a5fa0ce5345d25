"""How long a student process may take: as long as it would have needed on an idle machine, and a generous wall clock.

On a busy machine a process waits for a processor, through no fault of its own. The kernel counts that time, and here it
is not charged. Nor is the time that the examiner itself waited: a check that passes functions in is answered by both in
turn.
"""

from __future__ import annotations

import math
import socket
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from autograder.rpc.frames import ProtocolTimeout, wait_readable

LOOK_SECONDS = 1.0  # between two looks, each of which reads /proc
WALL = 12.0  # times the seconds, by the clock: for a machine on which a process gets a tenth of a processor
PARALLEL = 2.0  # times the seconds, by the processor time of all its processes


class CpuTime(NamedTuple):
    """Seconds of one process: that it ran, and that it stood ready and waited for a processor."""

    pid: int
    ran: float
    waited: float


Meter = Callable[[], list[CpuTime]]


def measure_own_wait() -> float:
    """Seconds that this thread stood ready and waited for a processor; 0 if the kernel doesn't count them."""
    try:
        with open(f"/proc/self/task/{threading.get_native_id()}/schedstat", "rb", buffering=0) as file:
            return int(file.read(100).split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


class Effort:
    """A bound that begins now.

    Args:
        seconds: What the process may take, as on an idle machine.
        meter: What its processes have used so far; without one, only the clock counts.
        most: Seconds by the clock that are left for everything.
        clock: Seconds of a clock that only goes forward.
        own_wait: Seconds that this thread stood ready and waited for a processor, ever.
    """

    def __init__(
        self,
        seconds: float,
        meter: Meter | None = None,
        most: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
        own_wait: Callable[[], float] = measure_own_wait,
    ) -> None:
        self.seconds, self._meter, self._most, self._clock = seconds, meter, min(WALL * seconds, most), clock
        self._begun, self._own_wait, self._own_begun = clock(), own_wait, own_wait()
        self._over = False  # for good: the kernel adds what a process waited once it runs again
        self._at_first: dict[int, CpuTime] | None = None
        if meter is not None and seconds <= LOOK_SECONDS:
            self._measure_spent(meter())  # the first look in passing would find it over, whatever it waited

    def wait(self, channel: socket.socket) -> None:
        """Wait until there is something to read. Raises ProtocolTimeout where that takes too long."""
        left = self._compute_time_left()
        while not wait_readable(channel, min(LOOK_SECONDS, max(left, 0.001))):
            left = self._compute_time_left()
            if left <= 0:
                self._over = True
                raise ProtocolTimeout("no answer in time")

    def wall(self) -> float:
        """Seconds by the clock that are left at most, for a message that has begun to come."""
        return max(self._begun + self._most - self._clock(), 0.001)

    def is_over(self) -> bool:
        self._over = self._over or self._compute_time_left() <= 0
        return self._over

    def was_starved(self) -> bool:
        """Whether it had less than half of its time when the wall clock ended it: the machine's fault.

        It isn't if its processes together ran for as long as one may: they kept each other waiting.
        """
        if not self.is_over():
            return False
        waited, ran = self._measure_spent(self._meter() if self._meter else [])
        return self._clock() - self._begun - waited < self.seconds / 2 and ran < self.seconds

    def _compute_time_left(self) -> float:
        elapsed = self._clock() - self._begun
        if self._meter is None or elapsed < min(LOOK_SECONDS, self.seconds):
            return self.seconds - elapsed
        waited, ran = self._measure_spent(self._meter())
        return min(self.seconds - (elapsed - waited), PARALLEL * self.seconds - ran, self._most - elapsed)

    def _measure_spent(self, found: list[CpuTime]) -> tuple[float, float]:
        """Since the first look: (the most that one process waited, and what the examiner did; what all of them ran)."""
        now = {used.pid: used for used in found}
        if self._at_first is None:
            self._at_first = now
        since = [_subtract_times(self._at_first.get(pid), used) for pid, used in now.items()]
        waited = max((used.waited for used in since), default=0.0) + self._own_wait() - self._own_begun
        return waited, sum(used.ran for used in since)


def _subtract_times(before: CpuTime | None, now: CpuTime) -> CpuTime:
    return now if before is None else CpuTime(now.pid, now.ran - before.ran, now.waited - before.waited)
