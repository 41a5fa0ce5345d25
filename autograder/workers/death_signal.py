"""The signal that a process gets when its parent ends. For student processes, the sandbox sets it."""

from __future__ import annotations

import signal
import sys

from autograder.sandbox.system import PR_SET_PDEATHSIG, prctl


def end_with_parent(number: signal.Signals) -> None:
    """Let Linux send this signal to this process when its parent ends, even if the parent is killed.

    A program that replaces this process keeps it. Other systems have nothing like it.
    """
    if sys.platform == "linux":
        prctl(PR_SET_PDEATHSIG, number)
