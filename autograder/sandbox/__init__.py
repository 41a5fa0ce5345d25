"""What a student process may do, in layers of which each has its file. A runner calls require() once; for each run it
claims a uid and a scratch directory, launches it (prepare, fork, enter as the child's first act) and supervises it."""

from autograder.sandbox.doctor import available, network_for, report, require, strongest, strongest_level
from autograder.sandbox.entry import NOT_ENTERED, enter, launch, prepare
from autograder.sandbox.home import environment, scratch
from autograder.sandbox.kill import adopt_orphans, kill_run
from autograder.sandbox.layers import names
from autograder.sandbox.memory_watch import Ending, MemoryWatch, held, supervise, watch
from autograder.sandbox.plan import Layer, Limits, Plan, runtime_paths
from autograder.sandbox.privileges import hide
from autograder.sandbox.processes import Run
from autograder.sandbox.uid import UID, claimed

__all__ = [
    "NOT_ENTERED",
    "UID",
    "Ending",
    "Layer",
    "Limits",
    "MemoryWatch",
    "Plan",
    "Run",
    "adopt_orphans",
    "available",
    "claimed",
    "enter",
    "environment",
    "held",
    "hide",
    "kill_run",
    "launch",
    "names",
    "network_for",
    "prepare",
    "report",
    "require",
    "runtime_paths",
    "scratch",
    "strongest",
    "strongest_level",
    "supervise",
    "watch",
]
