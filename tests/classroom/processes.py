"""Processes that a test has started."""

from __future__ import annotations

import contextlib

import psutil


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
