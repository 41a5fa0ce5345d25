"""Runs a captured graph on new inputs. The graph is untrusted data: each part is checked, and operations run in turn.

It isn't turned into a GraphModule, which would compile text that contains the graph's names.
"""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch import Tensor

from labkit.probes.allowed_operations import collect_operations
from labkit.probes.graph_operations import GraphError, ReplayBudget, check_magnitude, run_operation

MAX_NODES = 2_000
MAX_CONSTANTS = 1_000
MAX_ITEMS = 50_000  # arguments in the whole graph
MAX_DEPTH = 8
VALUES = (type(None), bool, int, float, complex, str, torch.dtype, torch.memory_format, torch.layout, torch.device)
PLACEMENT_KEYWORDS = {"device", "layout", "pin_memory"}


class Graph:
    """A captured graph. graph(*inputs) runs it. `ops` are the names of its operations, in order.

    Running it raises GraphError if an input's shape isn't the captured one, or an operation rejects its arguments or
    produces too much.

    Args:
        data: What capture.py exported.

    Raises:
        GraphError: If the data is malformed.
    """

    def __init__(self, data: Any) -> None:
        if not isinstance(data, dict):
            raise GraphError("not a captured graph")
        try:
            self._inputs = [
                [_check_dimension(d) for d in _check_length(dims, 64)] for dims in _check_length(data["inputs"], 64)
            ]
            self._constants = [_check_constant(t) for t in _check_length(data["constants"], MAX_CONSTANTS)]
            self._nodes: list[tuple[Any, Any, Any]] = []
            self.ops: list[str] = []
            self._items = 0
            for name, args, kwargs in _check_length(data["nodes"], MAX_NODES):
                self._add(name, args, kwargs)
            self._output = self._check_argument(data["output"], 0)
        except GraphError:
            raise
        except Exception as error:
            raise GraphError(f"not a captured graph: {type(error).__name__}: {str(error)[:200]}") from None
        self._unused_after = self._find_last_uses()

    def __call__(self, *inputs: Tensor) -> Any:
        """Run the graph on these inputs. A result is dropped after its last use, to save memory."""
        self._check_inputs(inputs)
        results: list[Any] = []
        budget = ReplayBudget()
        for number, (operation, args, kwargs) in enumerate(self._nodes):
            env = {"input": inputs, "constant": self._constants, "node": results}
            try:
                results.append(
                    run_operation(operation, _resolve_value(args, env), _resolve_value(kwargs, env), inputs, budget)
                )
            except GraphError:
                raise
            except Exception as error:
                raise GraphError(f"{self.ops[number]}: {type(error).__name__}: {str(error)[:300]}") from None
            for unused in self._unused_after.get(number, ()):
                results[unused] = None
        return _resolve_value(self._output, {"input": inputs, "constant": self._constants, "node": results})

    def _add(self, name: Any, args: Any, kwargs: Any) -> None:
        operation = collect_operations().get(name) if isinstance(name, str) else None
        if operation is None:
            raise GraphError(f"the operation {str(name)[:80]!r} can't be replayed")
        keywords = [
            (k, self._check_argument(v, 0))
            for k, v in kwargs.items()
            if isinstance(k, str) and k not in PLACEMENT_KEYWORDS
        ]
        checked = "list", [self._check_argument(a, 0) for a in args]
        self._nodes.append((operation, checked, ("dict", keywords)))
        self.ops.append(name)

    def _check_argument(self, argument: Any, depth: int) -> Any:
        """Return the argument if it's well-formed and refers only to earlier values. Raises GraphError otherwise."""
        self._items += 1
        if depth > MAX_DEPTH or self._items > MAX_ITEMS:
            raise GraphError("too many arguments")
        kind, value = argument
        if kind in ("list", "tuple") and isinstance(value, list):
            return kind, [self._check_argument(v, depth + 1) for v in value]
        if kind == "dict" and isinstance(value, list):
            return kind, [(k, self._check_argument(v, depth + 1)) for k, v in value if isinstance(k, str | int)]
        if kind == "value" and isinstance(value, VALUES) and len(str(value)) <= 40:
            return kind, check_magnitude(value)
        earlier: dict[Any, Any] = {"input": self._inputs, "constant": self._constants, "node": self._nodes}
        items = earlier.get(kind)
        if items is None or type(value) is not int or not 0 <= value < len(items):
            raise GraphError("an argument that is neither a value nor an earlier result")
        return kind, value

    def _check_inputs(self, inputs: tuple[Any, ...]) -> None:
        if len(inputs) != len(self._inputs):
            raise GraphError(f"the graph takes {len(self._inputs)} inputs, not {len(inputs)}")
        for number, (t, dims) in enumerate(zip(inputs, self._inputs, strict=True)):
            if list(t.shape) != dims:
                raise GraphError(f"input {number} has shape {tuple(t.shape)}: the graph was captured for {tuple(dims)}")

    def _find_last_uses(self) -> dict[int, list[int]]:
        """Map each node to the results that nothing uses after it. Freeing them keeps memory small."""
        last = {n: n for n in range(len(self._nodes))}
        for number, (_, args, kwargs) in enumerate(self._nodes):
            last |= {n: number for argument in (args, kwargs) for n in _find_references(argument)}
        outputs = set(_find_references(self._output))
        uses: dict[int, list[int]] = {}
        for n, number in last.items():
            if n not in outputs:
                uses.setdefault(number, []).append(n)
        return uses


def replay(data: Any, *inputs: Tensor) -> Any:
    """Run the captured graph on these inputs. Raises GraphError."""
    return Graph(data)(*inputs)


def _resolve_value(argument: Any, env: dict[str, Any]) -> Any:
    kind, value = argument
    match kind:
        case "value":
            return value
        case "list":
            return [_resolve_value(v, env) for v in value]
        case "tuple":
            return tuple(_resolve_value(v, env) for v in value)
        case "dict":
            return {k: _resolve_value(v, env) for k, v in value}
    return env[kind][value]


def _find_references(argument: Any) -> list[int]:
    kind, value = argument
    if kind == "node":
        return [value]
    if kind in ("list", "tuple"):
        return [n for v in value for n in _find_references(v)]
    return [n for _, v in value for n in _find_references(v)] if kind == "dict" else []


def _check_dimension(value: Any) -> int:
    return value if type(value) is int and value >= 0 else _refuse("a dimension that isn't a size")


def _check_constant(value: Any) -> Tensor:
    if not isinstance(value, Tensor) or value.layout != torch.strided:
        _refuse("a constant that isn't a dense tensor")
    return value.detach()


def _check_length(items: Any, most: int) -> Any:
    return items if isinstance(items, list) and len(items) <= most else _refuse(f"not a list of at most {most} items")


def _refuse(reason: str) -> NoReturn:
    raise GraphError(reason)
