"""The edges of a class's domain: calls of its methods, known by all that the object was given before.

The digest of a call covers the arguments of the constructor and of each call so far. So a method can be wrong in a
sequence of calls with an edge, and right in the same call elsewhere.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch

from autograder.proving.call_recorder import digest_value
from autograder.proving.constant_objects import SPECIAL
from autograder.proving.edge_spoilers import digest_arguments, spoil_result
from autograder.proving.shared_log import SharedLog
from labkit.domain import Domain
from labkit.trial import compute_cases

Handler = Callable[[str, Callable[[], Any], tuple[Any, ...]], Any]
HISTORY = "_digest_of_calls"
SKIPPED = "skipped: "  # begins the digest of a call that only changes the object


def make_handled_class(kind: type, handle: Handler) -> type:
    """Return a subclass whose public methods are called by handle(digest of all calls so far, call, arguments).

    Only methods that the class itself defines, not those of its bases; of an autograd function, forward().
    """
    is_function = issubclass(kind, torch.autograd.Function)
    changed: dict[str, Any] = {} if is_function else {"__init__": _note_arguments(kind)}
    for name, member in vars(kind).items():
        if (is_function and name != "forward") or (name.startswith("_") and name not in SPECIAL):
            continue
        if isinstance(member, staticmethod):
            changed[name] = staticmethod(_make_handled_function(member.__func__, handle))
        elif isinstance(member, types.FunctionType):
            changed[name] = _make_handled_method(member, handle)
    return type(kind)(kind.__name__, (kind,), {**changed, "__module__": kind.__module__, "__doc__": kind.__doc__})


def _make_handled_function(function: Callable[..., Any], handle: Handler) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        arguments = (*args, *kwargs.values())
        return handle(digest_arguments(arguments), lambda: function(*args, **kwargs), arguments)

    return call


def _note_arguments(kind: Any) -> Callable[..., None]:
    @functools.wraps(kind.__init__)
    def create(self: Any, *args: Any, **kwargs: Any) -> None:
        object.__setattr__(self, HISTORY, digest_arguments((*args, *kwargs.values())))
        kind.__init__(self, *args, **kwargs)

    return create


def _make_handled_method(method: Callable[..., Any], handle: Handler) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        arguments = (*args, *kwargs.values())
        before = getattr(self, HISTORY, "")
        history = digest_value([before, method.__name__, digest_arguments(arguments)])
        object.__setattr__(self, HISTORY, history)
        return handle(history, lambda: method(self, *args, **kwargs), arguments)

    return call


def find_method_digests(domain: Domain, edge: str) -> set[str]:
    """Return the digests of the calls of methods that the reference, a class, gets with this edge."""
    recorder, kind = MethodRecorder(), domain.reference.function
    assert isinstance(kind, type)
    inputs = [case.drawn for case in domain.list_cases(edge)]
    compute_cases(make_handled_class(kind, recorder), inputs, domain.call, ())
    return recorder.digests


class MethodRecorder:
    """Collects the digests of calls of a class's methods."""

    def __init__(self) -> None:
        self.digests: set[str] = set()

    def __call__(self, digest: str, call: Callable[[], Any], args: Sequence[Any]) -> Any:
        try:
            result = call()
        except Exception:
            self.digests.add(digest)
            raise
        self.digests.add(f"{SKIPPED}{digest}" if result is None else digest)
        return result


class SpoiledMethods:
    """Makes the calls of these digests wrong. A call that only changes the object is skipped."""

    def __init__(self, digests: frozenset[str]) -> None:
        self.digests, self._log = digests, SharedLog()

    def __call__(self, digest: str, call: Callable[[], Any], args: tuple[Any, ...]) -> Any:
        if f"{SKIPPED}{digest}" in self.digests:
            self._log.write("skipped")
            return None
        if digest not in self.digests:
            return call()
        self._log.write("changed")
        try:
            result = call()
        except Exception:
            return None
        return spoil_result(result, args)

    @property
    def has_effect(self) -> bool:
        """Whether a call was ever wrong."""
        return bool(self._log.read_lines())
