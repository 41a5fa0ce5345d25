"""A request to stop that a signal handler may make."""

from __future__ import annotations

import time

LOOK_SECONDS = 0.1  # between two looks of wait()


class StopRequest:
    """A flag like threading.Event, but without a lock.

    A handler runs in the main thread, between any two of its steps. An Event's lock isn't reentrant: if the signal
    arrives while that thread is in wait(), set() waits for it forever.
    """

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        self._is_set = True

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, seconds: float) -> bool:
        """Wait until it's set, for at most this long. Returns whether it's set."""
        end = time.monotonic() + seconds
        while not self._is_set and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, LOOK_SECONDS))
        return self._is_set
