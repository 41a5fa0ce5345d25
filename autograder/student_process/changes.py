"""Detects what a call changed in the objects that the client passed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from autograder.rpc.tensors import get_gradient, get_version
from autograder.student_process.shadows import Shadows


def take_snapshot(value: Any) -> Snapshot | None:
    """Return a snapshot of a mutable object, or None for others."""
    kind = KINDS.get(type(value)) or next((kind for base, kind in KINDS.items() if isinstance(value, base)), None)
    return None if kind is None else kind(value)


class Snapshot:
    """An object as it was before the call."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.content = self.read()

    def read(self) -> Any:
        raise NotImplementedError

    def compute_difference(self, shadows: Shadows) -> Any:
        """Return how the client must change its own object, or None if nothing changed."""
        raise NotImplementedError


class TensorSnapshot(Snapshot):
    def read(self) -> Any:
        t: Tensor = self.value
        self.version, self.place, self.grad = get_version(t), _read_place(t), get_gradient(t)
        self.requires_grad, self.is_leaf, self.retains = t.requires_grad, t.is_leaf, t.retains_grad
        # After a change of its base, a view creates a new grad_fn when it's read: keep this one to compare.
        self.grad_fn = t.grad_fn
        self.hooks, self.post_hooks = set(t._backward_hooks or ()), set(_get_post_hooks(t))
        return None

    def has_been_recorded(self) -> bool:
        """Return whether the call changed this tensor in place under autograd: it's an operation's result now."""
        t: Tensor = self.value
        return t.requires_grad and not t.is_leaf and t.grad_fn is not self.grad_fn

    def compute_difference(self, shadows: Shadows) -> Any:
        """Return what changed besides the values, which are sent as blocks of memory; None if nothing did."""
        t: Tensor = self.value
        changes: dict[str, Any] = {}
        if get_version(t) != self.version:
            changes["version"] = get_version(t) - self.version
        if _read_place(t) != self.place:
            changes["place"] = t.data
        if get_gradient(t) is not self.grad:
            changes["grad"] = get_gradient(t)
        if t.is_leaf and not self.is_leaf:
            changes["detached"] = True
        if t.is_leaf and t.requires_grad != (self.requires_grad and self.is_leaf):
            changes["requires_grad"] = t.requires_grad
        if t.retains_grad and not self.retains:
            changes["retains_grad"] = True
        if not self.has_been_recorded():
            if hooks := _transfer_hooks(t._backward_hooks or {}, self.hooks):
                changes["hooks"] = hooks
            if hooks := _transfer_hooks(_get_post_hooks(t), self.post_hooks):
                changes["post_hooks"] = hooks
        leaked = shadows.leaked.get(id(t))
        if leaked is not None:
            changes["leaked"] = leaked
        return changes or None


@dataclass
class TransferredHook:
    """A hook that a call left on its argument, moved to the client's tensor. Its handle still removes it."""

    hook: Callable[[Any], Any]
    hooks: dict[int, Any]
    number: int

    def __call__(self, value: Any) -> Any:
        return self.hook(value) if self.number in self.hooks else None


def _transfer_hooks(hooks: dict[int, Any], old: set[int]) -> list[TransferredHook]:
    """Return the new hooks, and disable them here."""
    new = [TransferredHook(hook, hooks, number) for number, hook in hooks.items() if number not in old]
    hooks.update({hook.number: _do_nothing for hook in new})
    return new


def _do_nothing(_: Any) -> None:
    pass


def _get_post_hooks(t: Tensor) -> dict[int, Any]:
    hooks: dict[int, Any] | None = t._post_accumulate_grad_hooks
    return hooks or {}


class ListSnapshot(Snapshot):
    def read(self) -> Any:
        return list(self.value)

    def compute_difference(self, shadows: Shadows) -> Any:
        return None if _is_same(self.value, self.content) else tuple(self.value)


class DictSnapshot(Snapshot):
    def read(self) -> Any:
        return dict(self.value)

    def compute_difference(self, shadows: Shadows) -> Any:
        same = _is_same(list(self.value), list(self.content))
        same = same and _is_same(list(self.value.values()), list(self.content.values()))
        return None if same else tuple(self.value.items())


class SetSnapshot(Snapshot):
    def read(self) -> Any:
        return set(self.value)

    def compute_difference(self, shadows: Shadows) -> Any:
        same = {id(v) for v in self.value} == {id(v) for v in self.content}
        return None if same else tuple(self.value)


class GeneratorSnapshot(Snapshot):
    def read(self) -> Any:
        return self.value.get_state().numpy().tobytes()

    def compute_difference(self, shadows: Shadows) -> Any:
        state = self.read()
        return None if state == self.content else state


KINDS: dict[type, type[Snapshot]] = {
    Tensor: TensorSnapshot,
    list: ListSnapshot,
    dict: DictSnapshot,
    set: SetSnapshot,
    torch.Generator: GeneratorSnapshot,
}


def _is_same(now: list[Any], then: list[Any]) -> bool:
    return len(now) == len(then) and all(a is b for a, b in zip(now, then, strict=True))


def _read_place(t: Tensor) -> Any:
    return t.data_ptr(), t.dtype, t.storage_offset(), t.shape, t.stride(), t.is_conj(), t.is_neg()
