"""A request to stop reaches whoever waits for it, at whatever moment the signal arrives."""

import signal
import sys
import threading
from types import FrameType
from typing import Any

import pytest

from autograder.base.stop_request import StopRequest


def wait_with_signal(request: StopRequest, line: int) -> bool:
    """Wait, with a signal at this line of what wait() runs, counted from 0."""
    lines = iter(range(1000))

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line" and next(lines) == line:
            signal.raise_signal(signal.SIGUSR1)
        return trace

    sys.settrace(trace)
    try:
        return request.wait(600.0)
    finally:
        sys.settrace(None)


@pytest.mark.parametrize("line", range(4))
def test_a_signal_at_any_moment_of_a_wait_ends_it(line: int) -> None:
    request = StopRequest()
    before = signal.signal(signal.SIGUSR1, lambda *_: request.set())
    try:
        assert wait_with_signal(request, line)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_another_thread_ends_a_wait() -> None:
    request = StopRequest()
    threading.Thread(target=request.set).start()
    assert request.wait(600.0)


def test_a_wait_ends_without_a_request() -> None:
    request = StopRequest()
    assert not any(request.wait(seconds) for seconds in (0.0, -1.0))
    assert not request.is_set()
