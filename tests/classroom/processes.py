"""Processes that a test has started."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable

import psutil
import pytest


def wait_for(condition: Callable[[], object], running: subprocess.Popen[str]) -> None:
    """Wait until the condition holds. If the process ends before that, the test fails with its output."""
    while not condition():
        if running.poll() is not None and not condition():
            pytest.fail(f"it ended with status {running.returncode}:\n{running.communicate()[0]}")
        time.sleep(0.02)


def list_children(pid: int, recursive: bool = False) -> list[tuple[int, str]]:
    """(pid, command line) of each process that this one started; recursive: descendants too."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [(child.pid, _read_command(child)) for child in psutil.Process(pid).children(recursive)]
    return []


def _read_command(process: psutil.Process) -> str:
    """Empty if it has ended."""
    with contextlib.suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""
