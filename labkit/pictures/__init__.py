"""Pictures of what cannot be seen in printed numbers: the autograd graph, and how strides walk through storage."""

from labkit.pictures.graph import show_graph
from labkit.pictures.strides import show_strides

__all__ = ["show_graph", "show_strides"]
