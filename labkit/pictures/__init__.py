"""Pictures of what cannot be seen in printed numbers. `picture.py` says how they work.

Each is imported when it is first used: all of them take as long as the rest of labkit, and a lab uses three.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labkit.pictures.backward import show_backward
    from labkit.pictures.breaks import show_breaks
    from labkit.pictures.broadcasting import explore_broadcasting, show_broadcasting
    from labkit.pictures.compiles import show_compiles
    from labkit.pictures.curves import show_curves
    from labkit.pictures.dtypes import show_dtypes
    from labkit.pictures.formats import explore_formats
    from labkit.pictures.graph import show_graph
    from labkit.pictures.kept import show_kept
    from labkit.pictures.lanes import show_trace
    from labkit.pictures.over import show_over
    from labkit.pictures.overlap import show_overlap
    from labkit.pictures.paths import show_paths
    from labkit.pictures.playground import play_network
    from labkit.pictures.ring import explore_ring, show_traffic
    from labkit.pictures.saliency import show_saliency
    from labkit.pictures.straight_through import show_straight_through
    from labkit.pictures.strides import explore_strides, show_strides
    from labkit.pictures.timeline import show_memory
    from labkit.pictures.underflow import show_underflow
    from labkit.pictures.version_timeline import show_versions, try_writes
    from labkit.pictures.vjp import show_vjp

MODULES = {  # in which module each stands
    "explore_broadcasting": "broadcasting",
    "explore_formats": "formats",
    "explore_ring": "ring",
    "explore_strides": "strides",
    "play_network": "playground",
    "show_backward": "backward",
    "show_breaks": "breaks",
    "show_broadcasting": "broadcasting",
    "show_compiles": "compiles",
    "show_curves": "curves",
    "show_dtypes": "dtypes",
    "show_graph": "graph",
    "show_kept": "kept",
    "show_memory": "timeline",
    "show_over": "over",
    "show_overlap": "overlap",
    "show_paths": "paths",
    "show_saliency": "saliency",
    "show_straight_through": "straight_through",
    "show_strides": "strides",
    "show_trace": "lanes",
    "show_traffic": "ring",
    "show_underflow": "underflow",
    "show_versions": "version_timeline",
    "show_vjp": "vjp",
    "try_writes": "version_timeline",
}
__all__ = [
    "explore_broadcasting",
    "explore_formats",
    "explore_ring",
    "explore_strides",
    "play_network",
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
]


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
    return found
