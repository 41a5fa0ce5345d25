"""The sandbox of a student process, in layers, one a file.

A runner calls select_required_layers() once. For each run it claims a uid and a scratch directory, launches the run
(prepare, fork, enter as the child's first act) and watches it.
"""

from autograder.sandbox.doctor import (
    choose_network,
    find_layers,
    find_strongest_level,
    report_layers,
    select_layers,
    select_required_layers,
)
from autograder.sandbox.entry import NOT_ENTERED, enter, launch, prepare
from autograder.sandbox.home import build_process_environment, create_scratch
from autograder.sandbox.isolation import Isolation, parse_isolation
from autograder.sandbox.kill import adopt_orphans, kill_run
from autograder.sandbox.layers import list_layer_names
from autograder.sandbox.memory_watch import MemoryWatch, measure_memory, watch_memory
from autograder.sandbox.plan import Layer, Limits, Plan, find_runtime_paths
from autograder.sandbox.privileges import make_undumpable
from autograder.sandbox.processes import Run
from autograder.sandbox.uid import UID, claim_uid

__all__ = [
    "NOT_ENTERED",
    "UID",
    "Isolation",
    "Layer",
    "Limits",
    "MemoryWatch",
    "Plan",
    "Run",
    "adopt_orphans",
    "build_process_environment",
    "choose_network",
    "claim_uid",
    "create_scratch",
    "enter",
    "find_layers",
    "find_runtime_paths",
    "find_strongest_level",
    "kill_run",
    "launch",
    "list_layer_names",
    "make_undumpable",
    "measure_memory",
    "parse_isolation",
    "prepare",
    "report_layers",
    "select_layers",
    "select_required_layers",
    "watch_memory",
]
