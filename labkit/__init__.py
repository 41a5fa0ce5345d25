"""What a lab imports: checks, comparisons, hints, pictures, probes, and the device to work on.

labkit imports nothing from `autograder`: a student needs only this package.
"""

from typing import TYPE_CHECKING, Any

from labkit import memory, pictures, probes
from labkit.argument_changes import unchanged
from labkit.check import check
from labkit.choices import assert_answered, assert_letters, assert_some_right
from labkit.compare import assert_close, explain
from labkit.device import device, use_device
from labkit.hint import hint
from labkit.progress import progress
from labkit.recorded_calls import Seen

if TYPE_CHECKING:
    from labkit.pictures import (
        explore_broadcasting,
        explore_formats,
        explore_ring,
        explore_strides,
        play_network,
        show_backward,
        show_breaks,
        show_broadcasting,
        show_compiles,
        show_curves,
        show_dtypes,
        show_graph,
        show_kept,
        show_memory,
        show_over,
        show_overlap,
        show_paths,
        show_saliency,
        show_straight_through,
        show_strides,
        show_trace,
        show_traffic,
        show_underflow,
        show_versions,
        show_vjp,
        try_writes,
    )

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
    "progress",
    "show_backward",
    "show_breaks",
    "show_broadcasting",
    "show_compiles",
    "show_curves",
    "show_dtypes",
    "show_graph",
    "show_kept",
    "show_memory",
    "show_over",
    "show_overlap",
    "show_paths",
    "show_saliency",
    "show_straight_through",
    "show_strides",
    "show_trace",
    "show_traffic",
    "show_underflow",
    "show_versions",
    "show_vjp",
    "try_writes",
    "unchanged",
    "use_device",
]


def __getattr__(name: str) -> Any:
    """A picture, which is imported now."""
    if name not in pictures.MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(pictures, name)
    return found
