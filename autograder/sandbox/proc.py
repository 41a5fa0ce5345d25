"""A /proc of the run's own. Stops: seeing the processes of others: their command lines, users, times and networks.
Without it, their memory, environment, maps and descriptors are for other layers to close."""

from __future__ import annotations

from pathlib import Path

from autograder.sandbox.plan import Layer, Plan
from autograder.sandbox.system import MS_BIND, MS_NODEV, MS_NOSUID, MS_REC, mount

PROC = Path("/proc")


def show(plan: Plan, old: Path) -> None:
    """Mount it in the new file tree, or else the machine's, which is under `old`.

    A user namespace gets one only with a pid namespace of its own, and where nothing covers parts of the machine's.
    """
    PROC.mkdir()
    if Layer.PROC in plan.layers:
        options = "" if Layer.PID in plan.layers else "hidepid=invisible"
        mount("proc", PROC, "proc", MS_NOSUID | MS_NODEV, options)
    else:
        mount(str(old / "proc"), PROC, flags=MS_BIND | MS_REC)
