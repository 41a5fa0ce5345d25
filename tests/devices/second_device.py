"""Runs a function on another device than the check that calls it.

A check's arguments, also models, optimizers, batches and functions, are moved to the second device of labkit's TwoDevices;
results are moved back to the CPU. Inside, an operation that mixes both devices raises an accelerator's error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, MethodType
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from labkit import Seen
from labkit.probes.two_devices import SECOND, PlacedTensor


def run_on_second_device(f: Callable[..., Any], leaves: bool, left_behind: list[Tensor]) -> Callable[..., Any]:
    """f on the second device, to be called inside TwoDevices.

    leaves: a leaf that requires grad arrives as a leaf with the same memory, so f can write to it and to its .grad.
    Without it, it arrives with a history, so a check can differentiate through f.
    left_behind: gets each tensor of a result that is on the CPU although f was given one on the second device.
    """

    @functools.wraps(f)
    def moved(*args: Any, **kwargs: Any) -> Any:
        transfer = _Transfer(leaves)
        try:
            result = f(*[transfer.move(a) for a in args], **{name: transfer.move(a) for name, a in kwargs.items()})
        finally:
            transfer.undo()
        if transfer.pairs:
            tree_map(lambda v: left_behind.append(v) if _is_on_cpu(v) else None, result)
        return tree_map(transfer.move_back, result)

    return moved


class _Transfer:
    """The moves of one call. pairs: each tensor of the check with its copy, by id."""

    def __init__(self, leaves: bool) -> None:
        self.leaves = leaves
        self.pairs: dict[int, tuple[Tensor, Tensor]] = {}
        self._undo: list[Callable[[], None]] = []

    def move(self, value: Any) -> Any:
        if isinstance(value, PlacedTensor):
            return value
        if isinstance(value, Tensor):
            if id(value) not in self.pairs:
                self.pairs[id(value)] = (value, self._move_tensor(value))
            return self.pairs[id(value)][1]
        if isinstance(value, list | dict):
            self._move_contents(value)
        elif isinstance(value, tuple):
            return tree_map(self.move, value)
        elif isinstance(value, nn.Module):
            for module in value.modules():
                for table in (module._parameters, module._buffers):
                    self._replace(table, {k: self._move_leaf(t) for k, t in table.items() if t is not None})
                functions = {k: v for k, v in vars(module).items() if isinstance(v, FunctionType | MethodType | Seen)}
                self._replace(vars(module), {k: self.move(v) for k, v in functions.items()})
        elif isinstance(value, torch.optim.Optimizer):
            for group in value.param_groups:
                self._replace(group, {"params": [self._move_leaf(p) for p in group["params"]]})
            for key in [k for k in value.state if id(k) in self.pairs]:
                value.state[self.move(key)] = tree_map(self.move, value.state.pop(key))
            self._undo.append(lambda: self._return_state(value))
        elif isinstance(value, FunctionType | MethodType | Seen):
            return lambda *a, **k: tree_map(
                self.move, value(*tree_map(self.move_back, a), **tree_map(self.move_back, k))
            )
        elif (
            isinstance(value, Iterable) and type(value).__module__ in ("builtins", "__main__") and not _is_plain(value)
        ):
            return _Batches(value, self.move)
        return value

    def move_back(self, value: Any) -> Any:
        if not isinstance(value, PlacedTensor):
            return value
        for original, other in self.pairs.values():
            if other is value and (other.is_leaf or not other._version):  # a copy that was written to is the student's
                return original
        return value.to("cpu") if value.requires_grad else value.held

    def undo(self) -> None:
        for step in reversed(self._undo):
            step()
        for original, other in self.pairs.values():
            if original.is_leaf and other.is_leaf and (original.requires_grad or other.requires_grad):
                original.requires_grad_(other.requires_grad)
                original.grad = self.move_back(other.grad)

    def _move_tensor(self, value: Tensor) -> Tensor:
        if value.requires_grad and not (self.leaves and value.is_leaf):
            return value.to(SECOND)
        copy = PlacedTensor(value.detach())
        if value.is_leaf and value.requires_grad:
            copy.requires_grad_()
            copy.grad = None if value.grad is None else PlacedTensor(value.grad)
        return copy

    def _move_contents(self, container: list[Any] | dict[Any, Any]) -> None:
        """Move the contents of a list or dict of the check, which f may change."""

        def change(move: Callable[[Any], Any]) -> None:
            for key in list(container) if isinstance(container, dict) else range(len(container)):
                container[key] = move(container[key])

        change(self.move)
        self._undo.append(
            lambda: change(lambda v: tree_map(self.move_back, v) if isinstance(v, tuple) else self.move_back(v))
        )

    def _move_leaf(self, value: Tensor) -> Tensor:
        """A model's or an optimizer's tensor: always a leaf with the same memory."""
        leaves, self.leaves = self.leaves, True
        try:
            copy: Tensor = self.move(value)
            return copy
        finally:
            self.leaves = leaves

    def _replace(self, table: dict[str, Any], replacements: dict[str, Any]) -> None:
        before = {key: table[key] for key in replacements}
        self._undo.append(lambda: table.update({k: v for k, v in before.items() if k in table}))
        table.update(replacements)

    def _return_state(self, optimizer: torch.optim.Optimizer) -> None:
        for original, other in self.pairs.values():
            if other in optimizer.state:
                optimizer.state[original] = tree_map(self.move_back, optimizer.state.pop(other))


class _Batches:
    """An iterable of the check that yields its tensors on the second device."""

    def __init__(self, source: Iterable[Any], move: Callable[[Any], Any]) -> None:
        self._source = source
        self._move = move

    def __iter__(self) -> Iterator[Any]:
        return (tree_map(self._move, batch) for batch in self._source)

    def __next__(self) -> Any:
        return tree_map(self._move, next(self._source))  # type: ignore[call-overload]


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | bytes | list | tuple | dict | set | range | type)


def _is_on_cpu(value: Any) -> bool:
    return isinstance(value, Tensor) and not isinstance(value, PlacedTensor)
