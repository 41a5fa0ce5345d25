"""Processes that a test has started, found in /proc."""

from __future__ import annotations

from pathlib import Path


def children(pid: int) -> list[tuple[int, str]]:
    """(pid, command line) of each process that this one started."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid:
                found.append((int(path.name), (path / "cmdline").read_text()))
        except OSError:
            continue
    return found
