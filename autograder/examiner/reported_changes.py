"""Applies to the examiner's objects what a call in the student process did to its copies of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.rpc.allowed_names import find_name
from autograder.rpc.frames import ProtocolError
from autograder.rpc.pure_names import HOOKS
from autograder.rpc.random_states import apply_torch_state
from autograder.rpc.tensors import check_acyclic, get_version, raise_version, unpack_generator_state
from autograder.rpc.unpacking import refuse_colliding


def read_versions(objects: list[Any]) -> list[int]:
    return [get_version(t) if isinstance(t, Tensor) else 0 for t in objects]


class ReportedChanges:
    """The differences that a reply reports for each object that was sent, None if it didn't change."""

    def __init__(self, objects: list[Any], differences: Any, versions: list[int]) -> None:
        if differences is None:
            differences = [None] * len(objects)
        if not isinstance(differences, list) or len(differences) != len(objects):
            raise ProtocolError("malformed changes")
        self._changes = [
            (value, d, version)
            for value, d, version in zip(objects, differences, versions, strict=True)
            if d is not None
        ]
        if any(isinstance(value, Tensor) and not isinstance(d, dict) for value, d, _ in self._changes):
            raise ProtocolError("malformed changes of a tensor")

    def apply_before_connecting(self) -> None:
        """Apply what the results need before they join the graph: which tensors require gradients, and their data."""
        for t, change, _ in self._changes:
            if not isinstance(t, Tensor):
                continue
            if change.get("detached"):
                t.detach_()
            if "place" in change:
                t.data = change["place"]
            if change.get("requires_grad"):
                t.requires_grad_()

    def apply_after_connecting(self) -> list[Callable[[], None]]:
        """Apply the rest. Returns what to run later, since it may call the examiner's hooks, which may raise."""
        deferred = []
        for value, change, version in self._changes:
            if isinstance(value, Tensor):
                deferred += _apply_rest(value, change, version)
            else:
                _replace_content(value, change)
        return deferred


def _apply_rest(t: Tensor, change: dict[str, Any], version: int) -> list[Callable[[], None]]:
    """Apply changes besides content: version, .grad, flags and hooks. Return a backward pass to run later, if any."""
    raise_version(t, version + int(change.get("version", 0)))
    if "grad" in change:
        t.grad = check_acyclic(t, change["grad"])
    if change.get("requires_grad") is False and t.is_leaf:
        t.requires_grad_(False)
    if change.get("retains_grad"):
        t.retain_grad()
    for register, key in ((t.register_hook, "hooks"), (t.register_post_accumulate_grad_hook, "post_hooks")):
        for hook in change.get(key, ()) if t.requires_grad else ():
            name = find_name(hook)
            if not callable(hook) or (name is not None and name not in HOOKS):
                raise ProtocolError("a hook that isn't allowed")
            register(hook)
    leaked = change.get("leaked")
    if isinstance(leaked, Tensor) and leaked.shape == t.shape and t.requires_grad and not t.is_leaf:
        return [lambda: t.backward(leaked, retain_graph=True)]
    return []


def _replace_content(value: Any, content: Any) -> None:
    """Replace the content of a list, dict, set or generator, and keep the object. Raises ProtocolError for others."""
    if isinstance(value, list) and isinstance(content, tuple):
        value[:] = content
    elif isinstance(value, dict) and isinstance(content, tuple):
        refuse_colliding(key for key, _ in content)
        pairs = dict(content)
        value.clear()
        value.update(pairs)
    elif isinstance(value, set) and isinstance(content, tuple):
        refuse_colliding(content)
        members = set(content)
        value.clear()
        value.update(members)
    elif isinstance(value, torch.Generator):
        apply_torch_state(value, unpack_generator_state(content))
    else:
        raise ProtocolError("a change that doesn't fit its object")
