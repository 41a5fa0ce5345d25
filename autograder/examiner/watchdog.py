"""Bounds the examiner's own time in a check: what a student process sends back could be slow to work with.

It counts processor time, since waiting for a reply has a bound of its own, and it holds in the main thread only: Python
gives signals to no other.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

from autograder.examiner.connection import Stopped
from labkit.cause import Cause, StopReason

SECONDS = 60.0
TOO_LONG = "working with this result took too long"


class Watchdog:
    """wind() before a check and rest() after it; a check in between that takes too long raises Stopped.

    awake: whether this is the main thread; elsewhere nothing happens.
    """

    def __init__(self, seconds: float, awake: bool) -> None:
        self.seconds, self.awake = seconds, awake

    def wind(self) -> None:
        if self.awake:
            signal.setitimer(signal.ITIMER_PROF, self.seconds, 1)  # again, where the first is lost

    def rest(self) -> None:
        if self.awake:
            signal.setitimer(signal.ITIMER_PROF, 0)


@contextlib.contextmanager
def run_watchdog(seconds: float = SECONDS) -> Iterator[Watchdog]:
    """A watchdog for the checks of one cell."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGPROF, _raise_stopped) if main else None
    dog = Watchdog(seconds, awake=main)
    try:
        yield dog
    finally:
        dog.rest()
        if main:
            signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def bound_work(seconds: float = SECONDS) -> Iterator[None]:
    """Bound the processor time of what is done inside. Raises Stopped when that is over."""
    with run_watchdog(seconds) as dog:
        dog.wind()
        yield


def _raise_stopped(*_: Any) -> None:
    raise Stopped(StopReason(TOO_LONG, Cause.GRADER))
