"""Calls a function on several inputs with one message, and reports what a check can't see from outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from labkit.probes.probe_definition import probe

NEW, EARLIER_RESULT = -1, -2  # whose memory a result is in: no one's, or that of an earlier call's result
OWN_RESULT = -3  # OWN_RESULT - n: that of the n-th leaf of the same result; numbers from 0 are leaves of the arguments
# Settings that a function may change and must put back.
SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.get_default_dtype, torch.set_default_dtype),
    (lambda: torch.is_autocast_enabled("cpu"), lambda on: torch.set_autocast_enabled("cpu", on)),
    (lambda: torch.get_autocast_dtype("cpu"), lambda dtype: torch.set_autocast_dtype("cpu", dtype)),
    (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    (torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
)

Span = tuple[int, int]  # the first address, and the one after the last


@probe
def call_each(
    function: Callable[..., Any], inputs: Sequence[tuple[Any, ...]], call: Callable[..., Any] | None = None
) -> list[list[Any]]:
    """Call the function on each input, and report each call as a list of the parts below, in this order.

    result: Without its graph.
    error: The names of the exception's type and of its bases.
    gradients: For each tensor of the result, those that go back from it to the tensors among the arguments; None if a
    backward pass raises an exception.
    states: For each tensor of the result: requires_grad, is_leaf.
    places: For each tensor or array of the result: whose memory it's in, and which argument it is, or NEW.
    container: EARLIER_RESULT if the result is the very list or dict that an earlier call returned, otherwise NEW.
    kept: Which of the SETTINGS are as before.

    Args:
        inputs: The arguments of each call.
        call: Calls the function with the arguments, call(function, *arguments), if that takes more.
    """
    spans: list[Span] = []
    containers: list[Any] = []
    return [_report_call(function, arguments, call, spans, containers) for arguments in inputs]


def _report_call(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    call: Callable[..., Any] | None,
    earlier: list[Span],
    containers: list[Any],
) -> list[Any]:
    before = [read() for read, _ in SETTINGS]
    argument_leaves = tree_leaves(arguments)
    argument_spans = [_find_span(leaf) for leaf in argument_leaves]
    result: Any = None
    error: list[str] = []
    try:
        result = function(*arguments) if call is None else call(function, *arguments)
    except Exception as raised:
        error = [name_type(kind) for kind in type(raised).__mro__]
    kept = [_restore(setting, value) for setting, value in zip(SETTINGS, before, strict=True)]
    leaves = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor | np.ndarray)]
    own_spans = [_find_span(leaf) for leaf in leaves]
    identities = [next((n for n, a in enumerate(argument_leaves) if a is leaf), NEW) for leaf in leaves]
    owners = [_find_owner(n, own_spans, argument_spans, earlier) for n in range(len(leaves))]
    earlier += own_spans
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    states = [[t.requires_grad, t.is_leaf] for t in tensors]
    gradients = [_compute_gradients(t, argument_leaves) for t in tensors]
    container = EARLIER_RESULT if any(result is other for other in containers) else NEW
    containers += [result] if isinstance(result, list | dict) else []
    if any(t.requires_grad for t in tensors):
        result = tree_map(_detach, result)  # its graph would be sent too
    return [result, error, gradients, states, list(zip(owners, identities, strict=True)), container, kept]


def name_type(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _restore(setting: tuple[Callable[[], Any], Callable[[Any], Any]], value: Any) -> bool:
    read, write = setting
    if read() == value:
        return True
    write(value)
    return False


def _find_span(value: Any) -> Span:
    if isinstance(value, Tensor):
        try:
            storage = value.untyped_storage()
            return storage.data_ptr(), storage.data_ptr() + storage.nbytes()
        except (NotImplementedError, RuntimeError):  # a sparse or functional tensor
            return 0, 0
    if isinstance(value, np.ndarray):
        return np.lib.array_utils.byte_bounds(value) if value.size else (0, 0)
    return 0, 0


def _find_owner(place: int, own: list[Span], arguments: list[Span], earlier: list[Span]) -> int:
    def find(spans: Sequence[Span]) -> int | None:
        start, end = own[place]
        return next((n for n, (first, last) in enumerate(spans) if max(start, first) < min(end, last)), None)

    if (argument := find(arguments)) is not None:
        return argument
    if (leaf := find(own[:place])) is not None:
        return OWN_RESULT - leaf
    return NEW if find(earlier) is None else EARLIER_RESULT


def _compute_gradients(result: Tensor, arguments: list[Any]) -> list[Tensor | None] | None:
    """Return the gradients for the arguments, for a fixed gradient of the result."""
    inputs = [t for t in arguments if isinstance(t, Tensor) and t.requires_grad]
    if not result.requires_grad or not inputs:
        return []
    generator = torch.Generator().manual_seed(0)
    grad = torch.randn(result.shape, generator=generator, dtype=result.dtype).to(result.device)
    try:
        return list(torch.autograd.grad(result, inputs, grad, retain_graph=True, allow_unused=True))
    except RuntimeError:
        return None


def _detach(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value
