"""What a lab imports: checks, comparisons, hints, pictures, probes, and the device to work on.

labkit imports nothing from `autograder`: a student needs only this package.
"""

from labkit import memory, probes
from labkit.check import check
from labkit.choices import assert_answered, assert_letters, assert_some_right
from labkit.compare import assert_close, explain
from labkit.device import device
from labkit.hint import hint
from labkit.pictures import (
    explore_broadcasting,
    explore_formats,
    explore_ring,
    explore_strides,
    play_network,
    show_broadcasting,
    show_compiles,
    show_curves,
    show_graph,
    show_kept,
    show_memory,
    show_over,
    show_strides,
    show_traffic,
    show_versions,
    try_writes,
)
from labkit.seen import Seen
from labkit.unchanged import unchanged

__all__ = [
    "Seen",
    "assert_answered",
    "assert_close",
    "assert_letters",
    "assert_some_right",
    "check",
    "device",
    "explain",
    "explore_broadcasting",
    "explore_formats",
    "explore_ring",
    "explore_strides",
    "hint",
    "memory",
    "play_network",
    "probes",
    "show_broadcasting",
    "show_compiles",
    "show_curves",
    "show_graph",
    "show_kept",
    "show_memory",
    "show_over",
    "show_strides",
    "show_traffic",
    "show_versions",
    "try_writes",
    "unchanged",
]
