"""Capture of a student's function as a graph of aten operations, in plain data that replay.py can run.

    {"inputs": [dims of each input], "constants": [tensors],
     "nodes": [(operation, [argument], {keyword: argument})], "output": argument}

An argument is ("input", n), ("constant", n), ("node", n), ("value", v) with a number, a text, a dtype or None,
("list", arguments), ("tuple", arguments) or ("dict", [(key, argument)]). A node uses only inputs, constants and nodes
before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, fx

from labkit.probes.probe_definition import ProbeError, probe

DROPPED_KEYWORDS = {"device", "layout", "pin_memory"}  # a replay has its own device
MAX_NODES = 2_000
Data = dict[str, Any]


@probe
def captured(f: Callable[..., Any], *args: Any, how: str = "trace") -> Data:
    """Capture f as a graph, with these arguments, which must be tensors.

    Raises what the capture raises, and ValueError for a graph that can't be represented: one that's too long, or that
    changes its arguments or buffers in a way that matters.

    Args:
        how: "trace" follows one run; "dynamo" is torch.compile(fullgraph=True), which returns several results as a
            tuple.
    """
    from torch.nn.attention import SDPBackend, sdpa_kernel

    if not all(isinstance(a, Tensor) for a in args):
        raise ProbeError("captured takes only tensors besides the function")
    # Break attention up into operations that a replay knows.
    with sdpa_kernel(SDPBackend.MATH):
        if how == "dynamo":
            return _encode_trace(_trace_with_dynamo(f, args), args)
        if how == "trace":
            return _encode_trace(f, args)
    raise ProbeError(f"how={how!r}: use 'trace' or 'dynamo'")


def _encode_trace(f: Callable[..., Any], args: tuple[Any, ...]) -> Data:
    from torch.fx.experimental.proxy_tensor import make_fx

    plain = [a.detach() for a in args]
    with torch.no_grad():
        graph = make_fx(torch.func.functionalize(f))(*plain)
    return _GraphEncoder(graph).export([list(a.shape) for a in plain])


def _trace_with_dynamo(f: Any, args: tuple[Any, ...]) -> Callable[..., Any]:
    """Return Dynamo's graph as a function of the arguments. Its other inputs stay as they were in this run."""
    import torch._dynamo

    runs: list[tuple[Any, tuple[Any, ...]]] = []

    def record(graph: fx.GraphModule, _: list[Any]) -> Any:
        def run(*inputs: Any) -> Any:
            runs.append((graph, inputs))
            return graph(*inputs)

        return run

    torch._dynamo.reset()
    try:
        torch.compile(f, backend=record, fullgraph=True, dynamic=False)(*args)
    finally:
        torch._dynamo.reset()
    if len(runs) != 1:
        raise ValueError(f"torch.compile made {len(runs)} graphs of it")
    graph, inputs = runs[0]
    positions = [next((n for n, a in enumerate(args) if a is t), None) for t in inputs]

    def run_again(*new: Any) -> Any:
        result = graph(*[t if n is None else new[n] for t, n in zip(inputs, positions, strict=True)])
        return result[0] if len(result) == 1 else result

    return run_again


class _GraphEncoder:
    """Converts an fx graph to plain data."""

    def __init__(self, graph: fx.GraphModule) -> None:
        self.graph = graph
        self.places: dict[fx.Node, list[Any]] = {}
        self.constants: list[Tensor] = []

    def export(self, inputs: list[list[int]]) -> Data:
        """Return the graph as plain data, in the form that this file describes.

        Args:
            inputs: The dims of each input.

        Raises:
            ValueError: If the graph has too many operations.
        """
        nodes: list[Any] = []
        output: Any = ("value", None)
        input_count = 0
        for node in self._find_needed():
            if node.op == "output":
                output = self._write_argument(node.args[0])
            elif node.op == "get_attr":
                self.places[node] = ["constant", len(self.constants)]
                self.constants.append(_get_attribute(self.graph, str(node.target)).detach().clone())
            elif node.op == "placeholder":
                self.places[node] = ["input", input_count]
                input_count += 1
            else:
                self.places[node] = ["node", len(nodes)]
                keywords = {k: self._write_argument(v) for k, v in node.kwargs.items() if k not in DROPPED_KEYWORDS}
                nodes.append((_format_name(node.target), [self._write_argument(a) for a in node.args], keywords))
        if len(nodes) > MAX_NODES:
            raise ValueError(f"a graph of {len(nodes)} operations: at most {MAX_NODES} can be captured")
        return {"inputs": inputs, "constants": self.constants, "nodes": nodes, "output": output}

    def _find_needed(self) -> list[fx.Node]:
        """Return the nodes that the output depends on, and all inputs, without writes to buffers that nothing reads."""
        nodes = list(self.graph.graph.nodes)
        needed: set[fx.Node] = set()
        stack = [node for node in nodes if node.op == "output"]
        while stack:
            node = stack.pop()
            if node not in needed:
                needed.add(node)
                stack += node.all_input_nodes
        for node in nodes:
            if _is_mutating(node.target) and (node in needed or needed & set(node.all_input_nodes)):
                raise ValueError(f"{node.target} changes what the graph reads: such a graph can't be captured")
        return [node for node in nodes if node in needed or node.op == "placeholder"]

    def _write_argument(self, value: Any) -> Any:
        if isinstance(value, fx.Node):
            return tuple(self.places[value])
        if isinstance(value, list | tuple):
            return "tuple" if isinstance(value, tuple) else "list", [self._write_argument(v) for v in value]
        if isinstance(value, dict):
            return "dict", [(key, self._write_argument(v)) for key, v in value.items()]
        return "value", value


def _is_mutating(target: Any) -> bool:
    return isinstance(target, torch._ops.OpOverload) and target._schema.is_mutable


def _format_name(target: Any) -> str:
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    return f"operator.{getattr(target, '__name__', target)}"


def _get_attribute(module: Any, path: str) -> Any:
    for part in path.split("."):
        module = getattr(module, part)
    return module
