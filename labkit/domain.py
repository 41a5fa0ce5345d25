"""The domain of an exercise's arguments, declared once, and a student's function tried on inputs drawn from it.

A wrong answer is rarely wrong everywhere: it forgets an edge, such as no rows, a transposed tensor, or a row of equal
numbers. So a domain names its edges, and inputs are drawn with and without each of them. What the function should
return, and how it should leave its arguments, is what the reference does with a copy of the same input.
"""

from __future__ import annotations

import copy
import functools
import inspect
import linecache
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from labkit.comparison import Mismatch, assert_close
from labkit.draw import DrawArguments, draw_inputs

PLAIN_CASES = 6  # without an edge
EDGE_CASES = 2  # with each edge
SEED = 1

Function = Callable[..., Any]

_cases: dict[tuple[Any, ...], tuple[Case, ...]] = {}  # drawn once in a process, since that takes longer than the calls


@dataclass(frozen=True)
class Case:
    """One input, and what the reference does with it."""

    arguments: tuple[Any, ...]
    result: Any
    arguments_after: tuple[Any, ...]
    """The arguments as the reference leaves them."""
    error: type[Exception] | None = None
    """What the reference raises."""


@dataclass(frozen=True)
class Trial:
    """One call of the student's function."""

    case: Case
    arguments: tuple[Any, ...]
    result: Any


@dataclass(frozen=True)
class Reference:
    """The worked solution of an exercise, defined apart from the student's function of the same name."""

    name: str
    source: str
    function: Function


class Domain:
    """The arguments that an exercise's function takes."""

    def __init__(self, draw_arguments: DrawArguments, edges: Sequence[str], reference: Reference) -> None:
        self.draw_arguments, self.edges, self.reference = draw_arguments, tuple(edges), reference
        self.parameters = list(inspect.signature(reference.function).parameters)
        self._trials: dict[str, list[Trial]] = {}
        self._function: Function | None = None

    def assert_results(self, function: Function, *edges: str, **options: Any) -> None:
        """Raise Mismatch unless the function returns what the reference does, with each of these edges; without, plain.

        After them comes an input of the same sizes as the first, with other numbers, and all results are compared at
        the end. So a function that remembers results, or returns the same memory twice, differs.

        Args:
            options: As for assert_close().
        """
        for trial in self._iter_trials(function, edges or ("",)):
            assert_close(trial.result, trial.case.result, **options)

    def assert_arguments(self, function: Function, *edges: str, **options: Any) -> None:
        """Raise Mismatch unless the function leaves its arguments as the reference does; by default, with every edge.

        That includes the memory around a view, requires_grad, and .grad.
        """
        for trial in self._iter_trials(function, edges or ("", *self.edges)):
            for name, got, want in zip(self.parameters, trial.arguments, trial.case.arguments_after, strict=True):
                assert_close(got, want, name=name, **options)
                _assert_same_state(got, want, name, options)

    def assert_returns(self, function: Function, parameter: str, *edges: str) -> None:
        """Raise Mismatch unless the function returns this argument itself; by default, with every edge."""
        place = self.parameters.index(parameter)
        for trial in self._iter_trials(function, edges or ("", *self.edges)):
            if trial.result is not trial.arguments[place]:
                raise Mismatch(f"your result is not {parameter} itself")

    def list_cases(self, edge: str = "") -> tuple[Case, ...]:
        """List the cases with this edge, or the plain ones. They are drawn once for each process and seed."""
        codes = _collect_codes(self.draw_arguments, {}) | _collect_codes(self.reference.function, {})
        key = (self.reference.source, frozenset(codes.items()), edge, SEED)
        if key not in _cases:
            _cases[key] = tuple(
                _compute_case(self.reference.function, arguments)
                for arguments in draw_inputs(self.draw_arguments, edge, EDGE_CASES if edge else PLAIN_CASES, SEED)
            )
        return _cases[key]

    def _iter_trials(self, function: Function, edges: Sequence[str]) -> Iterator[Trial]:
        """Yield the calls with these edges. Each is made once, by the first check that needs it."""
        if function is not self._function:
            self._function, self._trials = function, {}
        for edge in edges:
            if edge not in self._trials:
                self._trials[edge] = [_call_with_copy(function, case) for case in self.list_cases(edge)]
            yield from self._trials[edge]


def domain(reference: Reference, *edges: str) -> Callable[[DrawArguments], Domain]:
    """Declare the domain of an exercise's arguments, by a function that draws them.

    The function is called as draw_arguments(draw, edge), with a Draw, and one of the edges, or "" for an input without
    any. It returns the arguments as a tuple.

    Args:
        edges: The names of the edges.
    """
    return lambda draw_arguments: Domain(draw_arguments, edges, reference)


def define_reference(name: str, source: str, namespace: Mapping[str, Any]) -> Reference:
    """Define the worked solution in a namespace of its own, where its name isn't the student's function.

    The builder writes this call.

    Args:
        namespace: The names that it uses.
    """
    file = f"<reference of {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    own_namespace = dict(namespace)
    exec(_compile_source(source, file), own_namespace)
    return Reference(name, source, own_namespace[name])


@functools.lru_cache(maxsize=256)
def _compile_source(source: str, file: str) -> Any:
    return compile(source, file, "exec")


def _collect_codes(value: Any, found: dict[str, CodeType]) -> dict[str, CodeType]:
    """Return the code of this function and of the lab's functions that it leads to, by name."""
    if isinstance(value, FunctionType) and value.__name__ not in found and value.__module__ == "__main__":
        found[value.__name__] = value.__code__
        for name in value.__code__.co_names:
            _collect_codes(value.__globals__.get(name), found)
    return found


def _compute_case(function: Function, arguments: tuple[Any, ...]) -> Case:
    after = copy.deepcopy(arguments)
    try:
        result = function(*after)
        return Case(arguments, tree_map(_copy_leaf, result), after)
    except Exception as error:
        return Case(arguments, None, after, type(error))


def _copy_leaf(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else copy.deepcopy(value)


def _call_with_copy(function: Function, case: Case) -> Trial:
    """Call the function. Raises what it raises, unless the reference raises such an exception too."""
    arguments = copy.deepcopy(case.arguments)
    try:
        result = function(*arguments)
    except Exception as error:
        if case.error is None or not isinstance(error, case.error):
            raise
        return Trial(case, arguments, None)
    if case.error is not None:
        raise Mismatch("your function returned", f"{case.error.__name__}, raised")
    return Trial(case, arguments, result)


def _assert_same_state(got: Any, want: Any, name: str, options: Mapping[str, Any]) -> None:
    """Compare what assert_close() doesn't: the memory around a view, requires_grad, and .grad."""
    for mine, other in zip(tree_leaves(got), tree_leaves(want), strict=True):
        if isinstance(mine, Tensor) and isinstance(other, Tensor):
            assert_close(_view_memory(mine), _view_memory(other), name=f"the memory around {name}", **options)
            if mine.requires_grad != other.requires_grad:
                raise Mismatch(f"requires_grad of {name} is {mine.requires_grad}")
            if other.is_leaf:
                assert_close(mine.grad, other.grad, name=f".grad of {name}", **options)


def _view_memory(t: Tensor) -> Tensor:
    """Return all numbers of the tensor's storage, in a row."""
    with torch.no_grad():
        return torch.empty(0, dtype=t.dtype, device=t.device).set_(t.untyped_storage())
