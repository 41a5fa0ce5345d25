"""Groups the results of a call into layers, since some may be computed from others."""

from __future__ import annotations

from typing import Any


def group_layers(edges: dict[int, Any]) -> list[tuple[list[int], list[int]]]:
    """Group edges into layers, those that others depend on first.

    Returns:
        For each layer, the keys of its edges, and the keys of the edges that they were computed from.
    """
    if len(edges) < 2:
        return [(list(edges), [])]
    keys = {(edge.node, edge.output_nr): key for key, edge in edges.items()}
    starts = [function for edge in edges.values() for function in edge.node.next_functions]
    if not _find_reached(starts, keys):
        return [(list(edges), [])]
    through = {key: _find_reached(list(edge.node.next_functions), keys) - {key} for key, edge in edges.items()}
    result: list[tuple[list[int], list[int]]] = []
    done: set[int] = set()
    while len(done) < len(edges):
        ready = [key for key in edges if key not in done and through[key] <= done]
        result.append((ready, sorted(set().union(*[through[key] for key in ready]))))
        done |= set(ready)
    return result


def _find_reached(edges: list[Any], keys: dict[Any, int]) -> set[int]:
    """Return the keys of all edges that these lead to."""
    found, seen = set(), set()
    while edges:
        node, output_nr = edges.pop()
        if (node, output_nr) in keys:
            found.add(keys[node, output_nr])
        if node is not None and node not in seen:
            seen.add(node)
            edges += node.next_functions
    return found
