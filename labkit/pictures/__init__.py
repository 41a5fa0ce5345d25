"""Pictures of what printed numbers can't show. `picture.py` explains how they work.

Each is imported on first use: together they take as long as the rest of labkit, and a lab uses about three.
"""

from importlib import import_module
from typing import Any

MODULES = {  # the module that defines each name
    "explore_broadcasting": "broadcasting",
    "explore_formats": "formats",
    "explore_ring": "ring",
    "explore_strides": "strides",
    "play_network": "playground",
    "show_backward": "backward",
    "show_breaks": "breaks",
    "show_broadcasting": "broadcasting",
    "show_compiles": "compilations",
    "show_curves": "curves",
    "show_dtypes": "dtypes",
    "show_graph": "graph",
    "show_kept": "saved_memory",
    "show_memory": "memory_timeline",
    "show_over": "curve_panels",
    "show_overlap": "overlap",
    "show_paths": "paths",
    "show_saliency": "saliency",
    "show_straight_through": "straight_through",
    "show_strides": "strides",
    "show_trace": "lanes",
    "show_traffic": "traffic",
    "show_underflow": "underflow",
    "show_versions": "version_timeline",
    "show_vjp": "vjp",
    "try_writes": "version_timeline",
}
__all__ = [*MODULES]


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
    return value
