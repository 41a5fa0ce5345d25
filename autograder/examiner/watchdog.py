"""Limits the examiner's own time in a check: values from a student process could be slow to work with.

It counts processor time, since waiting for a reply has a limit of its own. It works only in the main thread, since
Python delivers signals to no other.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

from autograder.examiner.stopped_error import StoppedError
from labkit.cause import Cause, StopReason

SECONDS = 60.0
TOO_LONG = "working with this result took too long"


class Watchdog:
    """Raises StoppedError between start() and stop() if the processor time is used up.

    Args:
        enabled: Whether this is the main thread; elsewhere nothing happens.
    """

    def __init__(self, seconds: float, enabled: bool) -> None:
        self.seconds, self.enabled = seconds, enabled

    def start(self) -> None:
        if self.enabled:
            signal.setitimer(signal.ITIMER_PROF, self.seconds, 1)  # every second again, if the first signal is lost

    def stop(self) -> None:
        if self.enabled:
            signal.setitimer(signal.ITIMER_PROF, 0)


@contextlib.contextmanager
def run_watchdog(seconds: float = SECONDS) -> Iterator[Watchdog]:
    """Install a watchdog for the checks of one cell."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGPROF, _raise_stopped) if main else None
    dog = Watchdog(seconds, enabled=main)
    try:
        yield dog
    finally:
        dog.stop()
        if main:
            signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def limit_work(seconds: float = SECONDS) -> Iterator[None]:
    """Limit the processor time of a with block. Raises StoppedError when it's used up."""
    with run_watchdog(seconds) as dog:
        dog.start()
        yield


def _raise_stopped(*_: Any) -> None:
    raise StoppedError(StopReason(TOO_LONG, Cause.GRADER))
