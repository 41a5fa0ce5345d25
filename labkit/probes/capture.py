"""A student's function as a graph of aten operations, written down as plain data that replay.py can run.

    {"inputs": [dims of each input], "constants": [tensors],
     "nodes": [(operation, [argument], {keyword: argument})], "output": argument}

An argument is ("input", n), ("constant", n), ("node", n), ("value", number, text, dtype or None), ("list", arguments),
("tuple", arguments) or ("dict", [(key, argument)]). A node uses only inputs, constants and nodes before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, fx

from labkit.probes.dispatch import ProbeError, probe

DROPPED_KEYWORDS = {"device", "layout", "pin_memory"}  # a replay has its own device
MAX_NODES = 2_000
Data = dict[str, Any]


@probe
def captured(f: Callable[..., Any], *args: Any, how: str = "trace") -> Data:
    """f as a graph, captured with these arguments, all of them tensors.

    how: "trace" follows one run; "dynamo" is torch.compile(fullgraph=True), whose several results come as a tuple.
    Raises what the capture raises, and ValueError where a graph cannot be written down: one that changes its arguments
    or buffers in a way that matters, or is too long.
    """
    from torch.nn.attention import SDPBackend, sdpa_kernel

    if not all(isinstance(a, Tensor) for a in args):
        raise ProbeError("captured takes tensors only, beside the function")
    # Attention as operations that a replay knows.
    with sdpa_kernel(SDPBackend.MATH):
        if how == "dynamo":
            return _write_trace(_trace_with_dynamo(f, args), args)
        if how == "trace":
            return _write_trace(f, args)
    raise ProbeError(f"how={how!r}: there are trace and dynamo")


def _write_trace(f: Callable[..., Any], args: tuple[Any, ...]) -> Data:
    from torch.fx.experimental.proxy_tensor import make_fx

    plain = [a.detach() for a in args]
    with torch.no_grad():
        graph = make_fx(torch.func.functionalize(f))(*plain)
    return _Writer(graph).data([list(a.shape) for a in plain])


def _trace_with_dynamo(f: Any, args: tuple[Any, ...]) -> Callable[..., Any]:
    """Dynamo's graph as a function of the arguments: what else goes into it is as it was in this run."""
    import torch._dynamo

    seen: list[tuple[Any, tuple[Any, ...]]] = []

    def keep(graph: fx.GraphModule, _: list[Any]) -> Any:
        def run(*inputs: Any) -> Any:
            seen.append((graph, inputs))
            return graph(*inputs)

        return run

    torch._dynamo.reset()
    try:
        torch.compile(f, backend=keep, fullgraph=True, dynamic=False)(*args)
    finally:
        torch._dynamo.reset()
    if len(seen) != 1:
        raise ValueError(f"torch.compile made {len(seen)} graphs of it")
    graph, inputs = seen[0]
    places = [next((n for n, a in enumerate(args) if a is t), None) for t in inputs]

    def run_again(*new: Any) -> Any:
        result = graph(*[t if n is None else new[n] for t, n in zip(inputs, places, strict=True)])
        return result[0] if len(result) == 1 else result

    return run_again


class _Writer:
    """Writes an fx graph down."""

    def __init__(self, graph: fx.GraphModule) -> None:
        self.graph = graph
        self.places: dict[fx.Node, list[Any]] = {}
        self.constants: list[Tensor] = []

    def data(self, inputs: list[list[int]]) -> Data:
        nodes: list[Any] = []
        output: Any = ("value", None)
        arrived = 0
        for node in self._find_needed():
            if node.op == "output":
                output = self._write_argument(node.args[0])
            elif node.op == "get_attr":
                self.places[node] = ["constant", len(self.constants)]
                self.constants.append(_get_attribute(self.graph, str(node.target)).detach().clone())
            elif node.op == "placeholder":
                self.places[node] = ["input", arrived]
                arrived += 1
            else:
                self.places[node] = ["node", len(nodes)]
                keywords = {k: self._write_argument(v) for k, v in node.kwargs.items() if k not in DROPPED_KEYWORDS}
                nodes.append((_format_name(node.target), [self._write_argument(a) for a in node.args], keywords))
        if len(nodes) > MAX_NODES:
            raise ValueError(f"a graph of {len(nodes)} operations: at most {MAX_NODES} can be written down")
        return {"inputs": inputs, "constants": self.constants, "nodes": nodes, "output": output}

    def _find_needed(self) -> list[fx.Node]:
        """The nodes that the output depends on, and all inputs. What only changes a buffer that nothing reads goes."""
        nodes = list(self.graph.graph.nodes)
        wanted: set[fx.Node] = set()
        todo = [node for node in nodes if node.op == "output"]
        while todo:
            node = todo.pop()
            if node not in wanted:
                wanted.add(node)
                todo += node.all_input_nodes
        for node in nodes:
            if _is_mutating(node.target) and (node in wanted or wanted & set(node.all_input_nodes)):
                raise ValueError(f"{node.target} changes what the graph reads: such a graph cannot be written down")
        return [node for node in nodes if node in wanted or node.op == "placeholder"]

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
