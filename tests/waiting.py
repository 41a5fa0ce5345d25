"""Waits for what another process or thread does. A test that would hang fails, and says what never happened."""

import contextlib
import time
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")
LOOKS = 60_000  # counted, since a busy machine makes each one later


def wait_until(condition: Callable[[], T], description: str) -> T:
    """The condition's first true value. A file that the condition reads may be missing while it's replaced."""
    for _ in range(LOOKS):
        with contextlib.suppress(FileNotFoundError):
            if value := condition():
                return value
        time.sleep(0.01)
    pytest.fail(f"waited in vain until {description}")
