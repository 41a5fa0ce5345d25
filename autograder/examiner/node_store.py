"""Stores the graph nodes of uses for backward, within limits of number and memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor

from autograder.examiner.stopped_error import StoppedError
from autograder.rpc.vjp import Node, find_gradient_edge

MAX_NODES = 2_000  # at a time
MAX_KEPT = 2**30  # bytes of their arguments and results, by shape: expanded memory counts in full


class NodeStore:
    """Graph nodes by number."""

    def __init__(self) -> None:
        self._nodes: dict[int, Node] = {}
        self._node_bytes: dict[int, int] = {}
        self._last_number = self._kept_bytes = 0

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, number: int) -> Node:
        return self._nodes[number]

    def add(self, inputs: list[Any], outputs: list[Any], objects: list[Any], shared: bool = False) -> int | None:
        """Add a graph node for backward and return its number, or None if there are no outputs.

        Args:
            objects: What the node may keep alive, for the memory limit.
        """
        if not outputs:
            return None
        size = sum(t.numel() * t.element_size() for t in objects if isinstance(t, Tensor))
        if len(self._nodes) >= MAX_NODES or self._kept_bytes + size > MAX_KEPT:
            raise StoppedError("too many results of this check's functions are kept for backward")
        self._last_number += 1
        self._kept_bytes += size
        self._node_bytes[self._last_number] = size
        self._nodes[self._last_number] = Node(inputs, [find_gradient_edge(t) for t in outputs], shared=shared)
        return self._last_number

    def forget(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._nodes.pop(number, None)
            self._kept_bytes -= self._node_bytes.pop(number, 0)
