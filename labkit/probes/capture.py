"""A student's function as a graph of aten operations, written down as plain data that replay.py can run.

    {"inputs": [dims of each input, None where any size goes], "constants": [tensors],
     "nodes": [(operation, [argument], {keyword: argument})], "output": argument}

An argument is ("input", n), ("constant", n), ("node", n), ("value", number, text, dtype or None), ("list", arguments),
("tuple", arguments) or ("dict", [(key, argument)]). A node uses only inputs, constants and nodes before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, fx, nn

from labkit.probes.dispatch import ProbeError, probe

DROPPED_KEYWORDS = {"device", "layout", "pin_memory"}  # a replay has its own device
MAX_NODES = 2_000
Data = dict[str, Any]


@probe
def captured(f: Any, *args: Any, how: str = "trace", dynamic: Sequence[Sequence[int]] = ()) -> Data:
    """f as a graph, captured with these arguments, all of them tensors.

    how: "trace" follows one run; "fx" is torch.fx.symbolic_trace; "export" is torch.export.export, where
    dynamic=[[0], []] says that the first input's dimension 0 may have any size; "dynamo" is
    torch.compile(fullgraph=True), whose several results come as a tuple. Where f is an ExportedProgram, it is taken as
    it is. Raises what the capture raises, and ValueError where a graph cannot be written down: one that changes its
    arguments or buffers in a way that matters, or is too long.
    """
    from torch.nn.attention import SDPBackend, sdpa_kernel

    if not all(isinstance(a, Tensor) for a in args):
        raise ProbeError("captured takes tensors only, beside the function")
    # Attention as operations that a replay knows.
    with sdpa_kernel(SDPBackend.MATH):
        if how == "export" or isinstance(f, torch.export.ExportedProgram):
            return _write_program(_export(f, args, dynamic))
        if dynamic:
            raise ProbeError(f"how={how!r} takes no dynamic dimensions")
        if how == "fx":
            return _write_trace(fx.symbolic_trace(f), args)
        if how == "dynamo":
            return _write_trace(_trace_with_dynamo(f, args), args)
        if how == "trace":
            return _write_trace(f, args)
    raise ProbeError(f"how={how!r}: there are trace, fx, export and dynamo")


def _write_trace(f: Callable[..., Any], args: tuple[Any, ...]) -> Data:
    from torch.fx.experimental.proxy_tensor import make_fx

    plain = [a.detach() for a in args]
    with torch.no_grad():
        graph = make_fx(torch.func.functionalize(f))(*plain)
    return _Writer(graph, lambda node: _get_attribute(graph, str(node.target))).data([list(a.shape) for a in plain])


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


def _export(f: Any, args: tuple[Any, ...], dynamic: Sequence[Sequence[int]]) -> Any:
    if isinstance(f, torch.export.ExportedProgram):
        return f.run_decompositions()
    module = f if isinstance(f, nn.Module) else _AsModule(f)
    shapes = [{n: torch.export.Dim.DYNAMIC for n in dims} for dims in dynamic]
    # One argument of the module's forward, a tuple, where the module is ours.
    wanted: Any = None if not dynamic else (tuple(shapes),) if isinstance(module, _AsModule) else tuple(shapes)
    return torch.export.export(module, args, dynamic_shapes=wanted).run_decompositions()


class _AsModule(nn.Module):
    def __init__(self, f: Callable[..., Any]) -> None:
        super().__init__()
        self.f = f

    def forward(self, *args: Any) -> Any:
        return self.f(*args)


def _write_program(program: Any) -> Data:
    """Of an exported program: what was lifted out of the module is a constant, its users' arguments are inputs."""
    from torch.export.graph_signature import InputKind, OutputKind

    known = {**program.state_dict, **program.constants}
    kinds = {s.arg.name: s for s in program.graph_signature.input_specs}
    lifted = {n: known[s.target] for n, s in kinds.items() if s.kind != InputKind.USER_INPUT and s.target in known}
    if any(s.kind not in (OutputKind.USER_OUTPUT,) for s in program.graph_signature.output_specs):
        raise ValueError("the program changes its buffers or its arguments: such a graph cannot be written down")
    inputs = [n for n in program.graph.nodes if n.op == "placeholder" and n.name not in lifted]
    dims = [[d if type(d) is int else None for d in n.meta["val"].shape] for n in inputs]
    data = _Writer(program.graph_module, lambda node: known[node.target], lifted).data(dims)
    leaves = data["output"][1]
    spec = program.call_spec.out_spec
    data["output"] = _write_nested(torch.utils._pytree.tree_unflatten([_Leaf(leaf) for leaf in leaves], spec))
    return data


class _Leaf:
    def __init__(self, argument: Any) -> None:
        self.argument = argument


def _write_nested(value: Any) -> Any:
    if isinstance(value, _Leaf):
        return value.argument
    if isinstance(value, dict):
        return "dict", [(key, _write_nested(item)) for key, item in value.items()]
    return "tuple" if isinstance(value, tuple) else "list", [_write_nested(item) for item in value]


class _Writer:
    """Writes an fx graph down. constant: the tensor of a get_attr node. lifted: constants by placeholder's name."""

    def __init__(
        self, graph: fx.GraphModule, constant: Callable[[fx.Node], Any], lifted: dict[str, Tensor] | None = None
    ) -> None:
        self.graph, self.constant, self.lifted = graph, constant, lifted or {}
        self.places: dict[fx.Node, list[Any]] = {}
        self.constants: list[Tensor] = []

    def data(self, inputs: list[list[int | None]]) -> Data:
        nodes: list[Any] = []
        output: Any = ("value", None)
        arrived = 0
        for node in self._find_needed():
            if node.op == "output":
                output = self._write_argument(node.args[0])
            elif node.name in self.lifted or node.op == "get_attr":
                self.places[node] = ["constant", len(self.constants)]
                value = self.lifted[node.name] if node.name in self.lifted else self.constant(node)
                self.constants.append(value.detach().clone())
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
