"""Proxies for a student's objects that aren't plain values: they look alike and run none of their code here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from autograder.examiner.connection import DroppedReferences
from autograder.examiner.stopped_error import StoppedError
from autograder.rpc.frames import MAX_ITEMS
from autograder.rpc.masked_text import unmask_text
from labkit.call_snapshots import record_proxy_call

OWN_NAMES = {"_owner", "_target", "_kinds", "_inputs"}
FORWARDED = {"__name__", "__qualname__", "__wrapped__"}
MODULES = (torch.nn, torch.optim, torch.autograd, torch.utils.data)


class ProxyOwner(Protocol):
    """The part of a RemoteNamespace that its proxies use."""

    dropped: DroppedReferences

    def operate(self, target: str | int, operation: str, *args: Any, **kwargs: Any) -> Any: ...

    def probe(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...


class StudentProxy:
    """A proxy for a student's function, class, or instance that isn't a plain value. It's never a Tensor.

    What it says about itself is only the student process's word.
    """

    def __init__(self, owner: ProxyOwner, target: str | int, kinds: tuple[str, ...] | None) -> None:
        self._owner, self._target, self._kinds = owner, target, kinds
        self._inputs: list[Tensor] = []  # differentiable tensors that it was made from

    def _operate(self, operation: str, *args: Any, **kwargs: Any) -> Any:
        return self._owner.operate(self._target, operation, *args, **kwargs)

    def __del__(self) -> None:
        if isinstance(self._target, int):
            self._owner.dropped.add_handle(self._target)

    def __probe__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a probe in the process that has its arguments. Called by labkit."""
        return self._owner.probe(function, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self._target, str):  # the exercise itself
            record_proxy_call(self._target, args, kwargs)
        return self._operate("call", *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in OWN_NAMES or (name.startswith("__") and name.endswith("__") and name not in FORWARDED):
            raise AttributeError(name)
        value = self._operate("getattr", name)
        if name == "shape" and not (isinstance(value, Sequence) and all(type(n) is int for n in value)):
            raise AttributeError("a malformed shape")  # checks write a shape into what a student reads
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in OWN_NAMES:
            object.__setattr__(self, name, value)
        else:
            self._operate("setattr", name, value)

    def __delattr__(self, name: str) -> None:
        self._operate("delattr", name)

    def __getitem__(self, key: Any) -> Any:
        return self._operate("getitem", key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._operate("setitem", key, value)

    def __len__(self) -> int:
        length = self._operate("len")
        if not isinstance(length, int) or not 0 <= length <= MAX_ITEMS:  # list() and tuple() allocate that many
            raise StoppedError("the Python process sent an invalid length")
        return length

    def __bool__(self) -> bool:
        return isinstance(self._target, str) or self._operate("bool") is True

    def __contains__(self, item: Any) -> bool:
        return self._operate("contains", item) is True

    def __iter__(self) -> Iterator[Any]:
        iterator = self._operate("iter")
        return iterator if isinstance(iterator, StudentProxy) else iter(iterator)

    def __next__(self) -> Any:
        return self._operate("next")

    def __enter__(self) -> Any:
        return self._operate("enter")

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: Any) -> bool:
        name = None if kind is None else f"{kind.__module__}.{kind.__qualname__}"
        return self._operate("leave", name) is True

    def __instancecheck__(self, instance: Any) -> bool:
        """Answer isinstance(object, StudentClass). A plain value is never an instance of a student's class."""
        return type(instance) is StudentProxy and instance._operate("isinstance", self) is True

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The nearest torch class, so isinstance(model, torch.nn.Module) gives the answer of the real object."""
        if self._kinds is None:
            self._kinds = _read_names(self._operate("kinds"))
        return next((kind for kind in map(_find_torch_class, self._kinds) if kind is not None), StudentProxy)

    @property
    def __bases__(self) -> tuple[type, ...]:
        """The nearest torch class, so issubclass(StudentClass, torch.nn.Module) gives the answer of the real class."""
        bases = map(_find_torch_class, _read_names(self._operate("bases")))
        return tuple(kind for kind in bases if kind is not None)[:1]


def _read_names(value: Any) -> tuple[str, ...]:
    """Return the names in a received list, unmasked: they are never displayed."""
    if not isinstance(value, list):
        return ()
    return tuple(unmask_text(name)[:200] for name in value[:20] if isinstance(name, str))


def _find_torch_class(name: str) -> type | None:
    """Return torch's class of this name, but never Tensor or a subclass: a check must not take a proxy for a tensor."""
    if name == "builtins.type":
        return type
    module, _, last = name.rpartition(".")
    for owner in MODULES:
        kind = vars(owner).get(last)
        if isinstance(kind, type) and kind.__module__ == module and not issubclass(kind, Tensor):
            return kind
    return None
