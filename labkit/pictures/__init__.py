"""Pictures of what cannot be seen in printed numbers: the autograd graph, and how strides walk through storage."""

from labkit.pictures.broadcasting import explore_broadcasting, show_broadcasting
from labkit.pictures.compiles import show_compiles
from labkit.pictures.curves import show_curves
from labkit.pictures.formats import explore_formats
from labkit.pictures.graph import show_graph
from labkit.pictures.kept import show_kept
from labkit.pictures.over import show_over
from labkit.pictures.playground import play_network
from labkit.pictures.ring import explore_ring, show_traffic
from labkit.pictures.strides import explore_strides, show_strides
from labkit.pictures.timeline import show_memory
from labkit.pictures.versions import show_versions, try_writes

__all__ = [
    "explore_broadcasting",
    "explore_formats",
    "explore_ring",
    "explore_strides",
    "play_network",
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
]
