"""Stands in for an object of the student's that is no value: looks like it, and runs none of its code here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from autograder.examiner.connection import DroppedReferences, Stopped
from autograder.rpc.frames import MAX_ITEMS
from autograder.rpc.masked_text import unmask_text

OWN = {"_namespace", "_target", "_kinds", "_inputs"}
FORWARDED = {"__name__", "__qualname__", "__wrapped__"}
PLACES = (torch.nn, torch.optim, torch.autograd, torch.utils.data)


class ProxyOwner(Protocol):
    """What a proxy needs to know of the RemoteNamespace that it belongs to."""

    dropped: DroppedReferences

    def operate(self, target: str | int, operation: str, *args: Any, **kwargs: Any) -> Any: ...

    def probe(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...


class Remote:
    """An object of the student's: a function, a class, or an instance that is no value.

    What it says of itself is the student's word, and no more. It is never a Tensor.
    """

    def __init__(self, remote: ProxyOwner, target: str | int, kinds: tuple[str, ...] | None) -> None:
        self._namespace, self._target, self._kinds = remote, target, kinds
        self._inputs: list[Tensor] = []  # what it was made of, where that can be differentiated

    def _do(self, operation: str, *args: Any, **kwargs: Any) -> Any:
        return self._namespace.operate(self._target, operation, *args, **kwargs)

    def __del__(self) -> None:
        if isinstance(self._target, int):
            self._namespace.dropped.handles.append(self._target)

    def __probe__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """labkit's way to run a probe where its arguments live."""
        return self._namespace.probe(function, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._do("call", *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in OWN or (name.startswith("__") and name.endswith("__") and name not in FORWARDED):
            raise AttributeError(name)
        value = self._do("getattr", name)
        if name == "shape" and not (isinstance(value, Sequence) and all(type(n) is int for n in value)):
            raise AttributeError("a shape that is none")  # checks write it into what a student reads
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in OWN:
            object.__setattr__(self, name, value)
        else:
            self._do("setattr", name, value)

    def __delattr__(self, name: str) -> None:
        self._do("delattr", name)

    def __getitem__(self, key: Any) -> Any:
        return self._do("getitem", key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._do("setitem", key, value)

    def __len__(self) -> int:
        length = self._do("len")
        if not isinstance(length, int) or not 0 <= length <= MAX_ITEMS:  # list() and tuple() make room for that many
            raise Stopped("the Python process sent what is no length")
        return length

    def __bool__(self) -> bool:
        return isinstance(self._target, str) or self._do("bool") is True

    def __contains__(self, item: Any) -> bool:
        return self._do("contains", item) is True

    def __iter__(self) -> Iterator[Any]:
        iterator = self._do("iter")
        return iterator if isinstance(iterator, Remote) else iter(iterator)

    def __next__(self) -> Any:
        return self._do("next")

    def __enter__(self) -> Any:
        return self._do("enter")

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: Any) -> bool:
        name = None if kind is None else f"{kind.__module__}.{kind.__qualname__}"
        return self._do("leave", name) is True

    def __instancecheck__(self, instance: Any) -> bool:
        """isinstance(object, StudentClass). A value of the protocol is an instance of no class of the student's."""
        return type(instance) is Remote and instance._do("isinstance", self) is True

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # type: ignore[override]
        """So that isinstance(model, torch.nn.Module) says what it would say beside the real object."""
        if self._kinds is None:
            self._kinds = _read_names(self._do("kinds"))
        return next((kind for kind in map(_find_torch_class, self._kinds) if kind is not None), Remote)

    @property
    def __bases__(self) -> tuple[type, ...]:
        """So that issubclass(StudentClass, torch.nn.Module) does too."""
        return tuple(kind for kind in map(_find_torch_class, _read_names(self._do("bases"))) if kind is not None)[:1]


def _read_names(value: Any) -> tuple[str, ...]:
    """The names in a list that came; nobody shows them."""
    if not isinstance(value, list):
        return ()
    return tuple(unmask_text(name)[:200] for name in value[:20] if isinstance(name, str))


def _find_torch_class(name: str) -> type | None:
    """torch's class of this name, but never a Tensor's: what is no tensor must not pass for one in a check."""
    if name == "builtins.type":
        return type
    module, _, last = name.rpartition(".")
    for place in PLACES:
        found = vars(place).get(last)
        if isinstance(found, type) and found.__module__ == module and not issubclass(found, Tensor):
            return found
    return None
