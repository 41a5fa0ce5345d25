"""The autograd graph of a tensor: which backward functions lead from it to the leaves."""

from __future__ import annotations

import re
import shutil
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from labkit.pictures.picture import Picture, never_fails, new_figure, png_of

# A graph deeper than this cannot be read as a picture.
MAX_NODES = 200
NODE = re.compile(r"(?<![^\s])\d{9,}(?![^\s])")  # as torchviz names it: by its memory address
EDGE = re.compile(r"^(?P<indent>\s*)(?P<a>\S+) -> (?P<b>\S+)(?P<rest>.*)$", re.DOTALL)


@never_fails
def show_graph(output: Tensor, names: Mapping[str, Tensor] | None = None) -> Picture:
    """Draw the graph that `output.backward()` would walk.

    output: a tensor with a grad_fn. names: name -> leaf tensor, to label the leaves.
    Drawn by torchviz where Graphviz's `dot` is installed, by networkx and matplotlib where it is not.
    """
    if output.grad_fn is None:
        return Picture("no graph: this tensor has no grad_fn, so no operation is recorded behind it")
    labels, edges = walk(output, names or {})
    words = "\n".join(f"{labels[a]} -> {labels[b]}" for a, b in edges) or labels[id(output.grad_fn)]
    if len(labels) > MAX_NODES:
        return Picture(f"(no picture: {len(labels)} nodes are too many to read)\n{words}")
    if shutil.which("dot"):
        return Picture(words, _with_torchviz(output, names or {}))
    return Picture(words, lambda: _with_networkx(labels, edges))


def walk(output: Tensor, names: Mapping[str, Tensor]) -> tuple[dict[int, str], list[tuple[int, int]]]:
    """Nodes (identity -> label) and edges of the backward graph, each node once, from the output to the leaves."""
    known = {id(t): name for name, t in names.items()}
    labels: dict[int, str] = {}
    alive = []  # an identity is a node's own only while the node lives
    edges: list[tuple[int, int]] = []
    waiting = [output.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in labels:
            continue
        labels[id(node)] = _label(node, known)
        alive.append(node)
        for following, _ in node.next_functions:
            if following is not None:
                edges.append((id(node), id(following)))
                waiting.append(following)
    return labels, edges


def _label(node: Any, known: Mapping[int, str]) -> str:
    leaf = getattr(node, "variable", None)
    if leaf is None:
        return str(node.name())
    name = known.get(id(leaf), "leaf")
    return f"{name} {tuple(leaf.shape)}"


def _with_torchviz(output: Tensor, names: Mapping[str, Tensor]) -> Callable[[], str]:
    """What draws the graph as it is now, later: a backward pass may take it apart meanwhile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torchviz imports distutils
        from torchviz import make_dot

        drawing = make_dot(output, params=dict(names))
    # torchviz points from the leaves to the output; backward walks the other way.
    turned = [EDGE.sub(r"\g<indent>\g<b> -> \g<a>\g<rest>", line) for line in drawing.body]
    drawing.body = _numbered(turned)
    return lambda: str(drawing.pipe(format="svg", encoding="utf-8"))


def _numbered(lines: list[str]) -> list[str]:
    """The lines with nodes named 0, 1, ... in place of memory addresses: the same graph gives the same picture."""
    numbers: dict[str, str] = {}
    for address in (match for line in lines for match in NODE.findall(line)):
        numbers.setdefault(address, str(len(numbers)))
    return [NODE.sub(lambda match: numbers[match.group()], line) for line in lines]


def _with_networkx(labels: Mapping[int, str], edges: list[tuple[int, int]]) -> bytes:
    import networkx as nx

    graph: Any = nx.MultiDiGraph()
    graph.add_nodes_from(labels)
    graph.add_edges_from(edges)
    for layer, nodes in enumerate(nx.topological_generations(graph)):
        for node in nodes:
            graph.nodes[node]["layer"] = -layer
    position = nx.multipartite_layout(graph, subset_key="layer", align="horizontal")
    rows = 1 + max(-data["layer"] for _, data in graph.nodes(data=True))
    figure = new_figure(6, 0.9 * rows + 0.6)
    axes = figure.add_subplot()
    box = {"boxstyle": "round", "facecolor": "#dbe7f5", "edgecolor": "#7a93ad"}
    nx.draw_networkx_labels(graph, position, ax=axes, labels=dict(labels), font_size=8, bbox=box)
    bends = ["arc3,rad=0.25", "arc3,rad=-0.25", "arc3,rad=0.5", "arc3,rad=-0.5"]
    nx.draw_networkx_edges(graph, position, ax=axes, node_size=1400, connectionstyle=bends)
    axes.set_axis_off()
    axes.margins(0.2)
    return png_of(figure)
