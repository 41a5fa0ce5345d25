"""One call of a student's function with a drawn input, and what the reference does with the same input."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from labkit.comparison import Mismatch, assert_close
from labkit.draw import DrawnInput
from labkit.probes.trials import EARLIER_RESULT, NEW, OWN_RESULT, call_each, name_type

Function = Callable[..., Any]
VALUES = (Tensor, np.ndarray, bool, int, float, complex, str, type(None), torch.dtype, torch.device, torch.Size)


class TensorState(NamedTuple):
    """What belongs to a tensor besides its values."""

    requires_grad: bool
    is_leaf: bool

    def __str__(self) -> str:
        return "a leaf" if self.is_leaf else "the result of an operation"


@dataclass(frozen=True)
class CallReport:
    """What call_each() reports of one call. Of a student's function, it's only the student process's word."""

    result: Any
    error: tuple[str, ...]
    """The names of the types of the exception that it raised, the most derived first."""
    gradients: Sequence[Sequence[Tensor | None] | None]
    """One entry for each tensor in the result: its gradients for the tensors among the arguments, or None if a backward
    pass raised an exception."""
    states: Sequence[TensorState]
    """The state of each tensor in the result."""
    owners: Sequence[int]
    """Whose memory each tensor or array of the result is in, see labkit/probes/trials.py."""
    identities: Sequence[int]
    """Which argument each tensor or array of the result is."""
    container: int
    """EARLIER_RESULT if the result is the very list or dict that an earlier call returned, otherwise NEW."""
    kept: Sequence[bool]
    """Which of PyTorch's settings are as before."""


@dataclass(frozen=True)
class Case:
    """One input, and what the reference does with it."""

    drawn: DrawnInput
    report: CallReport
    arguments: tuple[Any, ...]
    """The arguments as the reference leaves them."""
    unchanged: tuple[bool, ...]
    """For each argument, whether the reference leaves all of its numbers as they are."""
    replaced: tuple[bool, ...]
    """For each tensor in a list or dict among them, whether the reference put it there."""
    errors: tuple[str, ...] = ()
    """The names of the exceptions that may be raised, if the reference raises one."""


@dataclass(frozen=True)
class Trial:
    """One call of the student's function."""

    case: Case
    arguments: tuple[Any, ...]
    report: CallReport
    leaves: tuple[Any, ...]
    """The leaves of the arguments before the call."""

    def is_as_expected(self) -> bool:
        """Return whether it returned if the reference did, and raised such an exception if the reference did."""
        raised, expected = self.report.error, self.case.errors
        return any(name in raised for name in expected) if expected else not raised

    def find_replaced(self) -> tuple[bool, ...]:
        return _find_replaced(self.leaves, self.arguments)

    def raise_error(self, function: Function, call: Function | None) -> None:
        """Raise the exception that the call raised, by calling again.

        Raises:
            Mismatch: If only the reference raises one.
        """
        if not self.report.error:
            names = [name.rpartition(".")[2] for name in self.case.errors]
            raise Mismatch("your function returned a value", f"an exception: {' or '.join(names)}")
        arguments = self.case.drawn.make_arguments()
        function(*arguments) if call is None else call(function, *arguments)
        raise Mismatch("your function raised an exception at one call, and not at the same call later")


def compute_cases(
    function: Function, inputs: Sequence[DrawnInput], call: Function | None, errors: Sequence[type[Exception]]
) -> tuple[Case, ...]:
    """Call the reference with each input.

    Args:
        errors: Which exceptions may be raised if the reference raises one; by default, that one.
    """
    arguments = [drawn.make_arguments() for drawn in inputs]
    leaves = [tuple(tree_leaves(each)) for each in arguments]
    reports = _read_reports(call_each(function, arguments, call), len(inputs))
    names = tuple(map(name_type, errors))
    return tuple(
        Case(
            drawn,
            report,
            after,
            tuple(map(_is_same, drawn.make_arguments(), after)),
            _find_replaced(before, after),
            (names or report.error[:1]) if report.error else (),
        )
        for drawn, report, after, before in zip(inputs, reports, arguments, leaves, strict=True)
    )


def run_trials(function: Function, cases: Sequence[Case], call: Function | None) -> list[Trial]:
    """Call the student's function with the input of each case, in one message."""
    arguments = [case.drawn.make_arguments() for case in cases]
    leaves = [tuple(tree_leaves(each)) for each in arguments]
    reports = _read_reports(call_each(function, arguments, call), len(cases))
    return [Trial(*parts) for parts in zip(cases, arguments, reports, leaves, strict=True)]


def keep_values(value: Any) -> Any:
    """Return the value with None for each part that can't be compared, such as a function."""
    return tree_map(_keep_value, value)


def _keep_value(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray):  # with strides and a byte order that tensors have too
        return leaf.astype(leaf.dtype.newbyteorder("="), order="C")
    return leaf if isinstance(leaf, VALUES) else None


def assert_same_state(got: Any, want: Any, name: str, options: Mapping[str, Any], with_grad: bool = True) -> None:
    """Compare what assert_close() doesn't: the memory around a view, requires_grad, retains_grad, and .grad."""
    for mine, other in zip(tree_leaves(got), tree_leaves(want), strict=True):
        if isinstance(mine, Tensor) and isinstance(other, Tensor):
            if other.untyped_storage().nbytes() != other.numel() * other.element_size():
                assert_close(_view_memory(mine), _view_memory(other), name=f"the memory around {name}", **options)
            if mine.requires_grad != other.requires_grad:
                raise Mismatch(f"requires_grad of {name} is {mine.requires_grad}")
            if not with_grad:
                continue
            if mine.retains_grad != other.retains_grad:  # a later backward pass would fill .grad
                raise Mismatch(f"retains_grad of {name} is {mine.retains_grad}")
            if other.is_leaf:
                assert_close(mine.grad, other.grad, name=f".grad of {name}", **options)


def _is_same(before: Any, after: Any) -> bool:
    """Return whether both have the same tensors in the same places, bit for bit; False if one of them holds NaN."""
    old, new = tree_leaves(before), tree_leaves(after)
    pairs = zip(old, new, strict=False)
    return len(old) == len(new) and all(
        isinstance(a, Tensor) == isinstance(b, Tensor) and (not isinstance(a, Tensor) or torch.equal(a, b))
        for a, b in pairs
    )


def _find_replaced(before: Sequence[Any], after: Any) -> tuple[bool, ...]:
    return tuple(
        new is not old
        for old, new in zip(before, tree_leaves(after), strict=False)
        if isinstance(old, Tensor | np.ndarray)
    )


def _view_memory(t: Tensor) -> Tensor:
    """Return all numbers of the tensor's storage, in a row."""
    with torch.no_grad():
        return torch.empty(0, dtype=t.dtype, device=t.device).set_(t.untyped_storage())


def _read_reports(reports: Any, count: int) -> list[CallReport]:
    """Return the reports of call_each(). Raises Mismatch if what arrived are no such reports."""
    try:
        read = [_read_report(*report) for report in reports]
    except (TypeError, ValueError):
        read = []
    if len(read) != count:
        raise Mismatch("your function's results did not arrive")
    return read


def _read_report(
    result: Any,
    error: Any,
    gradients: Any,
    states: Sequence[Any],
    places: Sequence[Any],
    container: int,
    kept: Sequence[Any],
) -> CallReport:
    owners, identities = zip(*places, strict=True) if places else ((), ())
    return CallReport(
        result, tuple(error), gradients, [TensorState(*state) for state in states], owners, identities, container, kept
    )


def describe_owner(owner: int) -> str:
    """Say whose memory a tensor of a result is in, see labkit/probes/trials.py."""
    if owner == NEW:
        return "your result has memory of its own"
    if owner == EARLIER_RESULT:
        return "your result is in the memory of an earlier result"
    if owner <= OWN_RESULT:
        return "two tensors of your result share memory"
    return "your result shares memory with an argument"
