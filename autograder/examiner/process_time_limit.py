"""The time limit of a student process: as much time as on an idle machine, within a generous limit by the wall clock.

On a busy machine a process waits for a processor through no fault of its own. The kernel counts that time, and it isn't
charged here. Nor is the time that the examiner itself waited: if a check passes functions in, both take turns.
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
WALL = 12.0  # times the limit, by the clock: for a machine on which a process gets a tenth of a processor
PARALLEL = 2.0  # times the limit, by the processor time of all its processes


class CpuTime(NamedTuple):
    """Seconds for which one process ran, and for which it was ready and waited for a processor."""

    pid: int
    ran: float
    waited: float


Meter = Callable[[], list[CpuTime]]


def measure_own_cpu_wait() -> float:
    """Return for how many seconds this thread waited for a processor, or 0 if the kernel doesn't count them."""
    try:
        with open(f"/proc/self/task/{threading.get_native_id()}/schedstat", "rb", buffering=0) as file:
            return int(file.read(100).split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


class ProcessTimeLimit:
    """A time limit that begins now.

    Args:
        seconds: The time that the process may take, as on an idle machine.
        meter: Returns what its processes have used so far. Without one, only the clock counts.
        clock_limit: Seconds by the clock that are left for everything.
        clock: A monotonic clock.
        own_wait: Returns for how many seconds this thread has ever waited for a processor.
    """

    def __init__(
        self,
        seconds: float,
        meter: Meter | None = None,
        clock_limit: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
        own_wait: Callable[[], float] = measure_own_cpu_wait,
    ) -> None:
        self.seconds, self._meter, self._clock_limit, self._clock = (
            seconds,
            meter,
            min(WALL * seconds, clock_limit),
            clock,
        )
        self._begun, self._own_wait, self._own_begun = clock(), own_wait, own_wait()
        self._over = False  # final: the kernel adds the time that a process waited only once it runs again
        self._first_times: dict[int, CpuTime] | None = None
        if meter is not None and seconds <= LOOK_SECONDS:
            self._measure_spent(meter())  # the first look during wait() would come too late to subtract what it waited

    def wait(self, channel: socket.socket) -> None:
        """Wait until there is something to read. Raises ProtocolTimeout if that takes too long."""
        left = self._compute_time_left()
        while not wait_readable(channel, min(LOOK_SECONDS, max(left, 0.001))):
            left = self._compute_time_left()
            if left <= 0:
                self._over = True
                raise ProtocolTimeout("no answer in time")

    def measure_wall_left(self) -> float:
        """Return the seconds by the clock that are left at most, for a message that has begun to arrive."""
        return max(self._begun + self._clock_limit - self._clock(), 0.001)

    def is_over(self) -> bool:
        self._over = self._over or self._compute_time_left() <= 0
        return self._over

    def was_starved(self) -> bool:
        """Return whether the machine is to blame: the wall clock ended the process before it had half of its time.

        The machine isn't to blame if the processes together used the time that one may use: they kept each other
        waiting.
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
        return min(self.seconds - (elapsed - waited), PARALLEL * self.seconds - ran, self._clock_limit - elapsed)

    def _measure_spent(self, times: list[CpuTime]) -> tuple[float, float]:
        """Return what was used since the first look.

        Returns:
            The longest wait of one process plus the examiner's, and for how long all processes ran.
        """
        now = {process.pid: process for process in times}
        if self._first_times is None:
            self._first_times = now
        spent = [_subtract_times(process, self._first_times.get(pid)) for pid, process in now.items()]
        waited = max((process.waited for process in spent), default=0.0) + self._own_wait() - self._own_begun
        return waited, sum(process.ran for process in spent)


def _subtract_times(now: CpuTime, before: CpuTime | None) -> CpuTime:
    return now if before is None else CpuTime(now.pid, now.ran - before.ran, now.waited - before.waited)
