"""Processes that a test has started."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.waiting import wait_until

_running: list[subprocess.Popen[str]] = []


def start_gradlab(course: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a command in a course, as a process whose output is read as one text."""
    return start_python(course, "-m", "autograder.cli", *arguments)


def start_python(course: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, *arguments]
    process = subprocess.Popen(command, cwd=course, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    _running.append(process)
    return process


@pytest.fixture(autouse=True)
def end_processes() -> Iterator[None]:
    """Interrupt the processes that a failed test has left."""
    yield
    while _running:
        process = _running.pop()
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.communicate()


def wait_for(condition: Callable[[], object], running: subprocess.Popen[str]) -> None:
    """Wait until the condition holds. If the process ends before that, the test fails with its output."""

    def look() -> bool:
        has_ended = running.poll() is not None  # before the condition, which may hold only at the end
        holds = bool(condition())
        if has_ended and not holds:
            pytest.fail(f"it ended with status {running.returncode}:\n{running.communicate()[0]}")
        return holds

    wait_until(look, f"process {running.pid} has done what the test waits for")


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
