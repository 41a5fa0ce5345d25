"""Runs a captured graph on new inputs. The graph is untrusted data: only operations of a closed set are run, one after
the other, within limits of size and work.

It isn't turned into a GraphModule, which would compile text that contains the graph's names.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NoReturn

import torch
from torch import Tensor

from labkit.probes.ops import collect_operations, has_valid_types

MAX_NODES = 2_000
MAX_CONSTANTS = 1_000
MAX_ITEMS = 50_000  # arguments in the whole graph
MAX_DEPTH = 8
MAX_ELEMENTS = 2**22  # of one tensor
MAX_TOTAL = 2**26  # elements of all results together
MAX_WORK = 2**32  # multiplications
MAX_PARTS = 1_024  # of a split tensor
MAX_NUMBER = 2**62
VALUES = (type(None), bool, int, float, complex, str, torch.dtype, torch.memory_format, torch.layout, torch.device)
CREATES = {"full", "zeros", "ones", "arange", "scalar_tensor", "eye", "linspace"}
CREATES |= {"new_zeros", "new_ones", "new_full", "zeros_like", "ones_like", "full_like", "_to_copy"}
PLACEMENT_KEYWORDS = {"device", "layout", "pin_memory"}


class GraphError(ValueError):
    """A captured graph that's malformed or too large to replay."""


class Graph:
    """A captured graph. graph(*inputs) runs it. `ops` are the names of its operations, in order.

    Creating one from malformed data raises GraphError. So does running it if an input's shape isn't the captured one,
    or an operation rejects its arguments or produces too much.
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
        self._check_inputs(inputs)
        results: list[Any] = []
        budget = _Budget()
        for number, (operation, args, kwargs) in enumerate(self._nodes):
            env = {"input": inputs, "constant": self._constants, "node": results}
            try:
                results.append(_run(operation, _resolve_value(args, env), _resolve_value(kwargs, env), inputs, budget))
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
            return kind, _check_number(value)
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


class _Budget:
    def __init__(self) -> None:
        self.elements, self.work = 0, 0.0

    def spend(self, elements: int, work: float) -> None:
        self.elements += elements
        self.work += work
        if self.elements > MAX_TOTAL or self.work > MAX_WORK:
            raise GraphError("too much work for a replay")


def _run(operation: Any, args: list[Any], kwargs: dict[str, Any], inputs: Any, budget: _Budget) -> Any:
    if not isinstance(operation, torch._ops.OpOverload):
        return _compute_arithmetic(operation, args)
    name = operation._schema.name.removeprefix("aten::")
    if not has_valid_types(operation, args, kwargs):
        raise GraphError(f"{name}: an argument has the wrong type")
    if name in ("sym_size", "sym_numel"):
        return operation(*args)
    _refuse_harmful(name, args, kwargs)
    if name in CREATES:  # on `meta` first, to learn the sizes without computing
        device = next((t.device for t in (*inputs, *args) if isinstance(t, Tensor)), torch.device("cpu"))
        result = operation(*_move_to_meta(args), **kwargs, device="meta")
        kwargs = {**kwargs, "device": device}
    else:
        result = operation(*_move_to_meta(args), **_move_to_meta(kwargs))
    sizes = [t.numel() for t in _find_tensors(result)]
    if any(size > MAX_ELEMENTS for size in sizes):
        raise GraphError(f"a result of {max(sizes)} elements: at most {MAX_ELEMENTS} can be replayed")
    budget.spend(sum(sizes), _estimate_work(name, args, sizes))
    return operation(*args, **kwargs)


def _compute_arithmetic(operation: Any, args: list[Any]) -> Any:
    """Compute with numbers, such as sizes, or pick a part of a result. Nothing else is sure to be small."""
    if operation is operator.getitem:
        whole, part = args
        if not isinstance(whole, list | tuple) or type(part) is not int:
            raise GraphError("an item of a value that isn't a list or tuple")
        return whole[part]
    if any(type(a) not in (bool, int, float) for a in args):
        raise GraphError("arithmetic with a value that isn't a number")
    return _check_number(operation(*args))


def _refuse_harmful(name: str, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Refuse operations that would crash the process or take long to check, and copy what they might change."""
    tensors = _find_tensors([args, list(kwargs.values())])
    if any(t.numel() > MAX_ELEMENTS for t in tensors):
        raise GraphError(f"a tensor of more than {MAX_ELEMENTS} elements")
    if name == "div" and "trunc" in [*args, *kwargs.values()] and not any(_is_fractional(t) for t in tensors):
        raise GraphError("integers divided with rounding_mode='trunc'")  # -2**63 / -1 is a fatal signal
    if name in ("split", "chunk", "unbind") and max(tensors[0].shape, default=0) > MAX_PARTS:
        raise GraphError(f"a tensor split into more than {MAX_PARTS} parts")
    if "batch_norm" in name:
        channels = tensors[0].shape[1]
        if any(t.shape != (channels,) for t in tensors[1:]):  # the operation doesn't check this
            raise GraphError("batch norm with parameters of another size")
        args[1:5] = [t.clone() if isinstance(t, Tensor) else t for t in args[1:5]]
        kwargs |= {key: t.clone() for key, t in kwargs.items() if isinstance(t, Tensor)}


def _estimate_work(name: str, args: list[Any], sizes: list[int]) -> float:
    """Estimate an operation's multiplications, to within a small factor; 0 if it reads each element only once."""
    out = sizes[0] if sizes else 0
    tensors = _find_tensors(args)
    if name in ("mm", "bmm", "matmul", "mv", "dot", "linear"):
        return float(out) * (tensors[0].shape[-1] if tensors[0].dim() else 1)
    if name in ("addmm", "baddbmm"):
        return float(out) * tensors[1].shape[-1]
    if name.startswith("conv"):
        weight = tensors[1]
        return float(max(out, tensors[0].numel())) * weight.numel() / max(weight.shape[0], 1)
    if "pool" in name:
        return float(out) * math.prod(args[1] if isinstance(args[1], list) else [args[1]] * 2)
    return 0.0


def _move_to_meta(value: Any) -> Any:
    """Replace tensors by ones without memory."""
    if isinstance(value, Tensor):
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    if isinstance(value, list | tuple):
        return type(value)(_move_to_meta(v) for v in value)
    return {k: _move_to_meta(v) for k, v in value.items()} if isinstance(value, dict) else value


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


def _find_tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [t for v in value for t in _find_tensors(v)] if isinstance(value, list | tuple) else []


def _is_fractional(t: Tensor) -> bool:
    return t.is_floating_point() or t.is_complex()


def _check_number(value: Any) -> Any:
    if type(value) is int and abs(value) > MAX_NUMBER:
        _refuse("a number out of range")
    return value


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
