"""One student process as the examiner sees it: calls of its objects, with everything that a call can change."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from autograder.examiner.callbacks import Callbacks
from autograder.examiner.connection import (
    DroppedReferences,
    Requester,
    build_no_answer,
    check_number,
    check_numbers,
    expect,
)
from autograder.examiner.handles import Remote
from autograder.examiner.node import ArrivingTensors, RemoteNode, Reply, snapshot_history
from autograder.examiner.replayed_changes import Changes, read_versions
from autograder.examiner.student_exceptions import rebuild_exception
from autograder.rpc import allowed_names
from autograder.rpc.exchange import Exchange
from autograder.rpc.flags import use_inference_mode
from autograder.rpc.frames import CALLBACK, ProtocolError, WireValue
from autograder.rpc.messages import Call, CallReply, GraphNode, read
from labkit.probes import ProbeError


class SentState(NamedTuple):
    """What the exchange of a call held as it went out: blocks of memory, objects, and versions of these."""

    blocks: int
    objects: list[Any]
    versions: list[int]


class RemoteNamespace:
    """One student process. `namespace`: the course's own names, for given functions."""

    def __init__(self, connection: Requester, namespace: Mapping[str, Any]) -> None:
        self.connection: Any = connection  # the caller's own kind of Asking
        self.namespace = namespace
        self.dropped = DroppedReferences()
        self.callbacks = Callbacks(lambda: int(getattr(connection, "checks", 0)))
        self._new: list[Remote] = []  # made by the reply that is being read
        self._remotes: weakref.WeakValueDictionary[int, Remote] = weakref.WeakValueDictionary()

    def get_proxy(self, name: str) -> Remote:
        """What stands for the object that an exercise defines under this name."""
        return Remote(self, name, None)

    def operate(self, target: str | int, operation: str, *args: Any, **kwargs: Any) -> Any:
        """Do an operation on a student's object. Raises what the student's code raised, by type, or Stopped."""
        entered = ArrivingTensors()
        exchange = Exchange(self._name_of, self._named, self._opaque, self._handle, entered.enter, told=True)
        message = exchange.pack((*args, *kwargs.values()))
        sent = SentState(len(exchange.blocks), list(exchange.objects), read_versions(exchange.objects))
        reply = self.ask("call", *Call(target, operation, message, [*kwargs]))
        try:
            # In inference mode too, a reply is made of ordinary tensors, but for those that say they are others.
            with use_inference_mode(False), torch.no_grad():
                result, later, error = self._result(exchange, sent, read(CallReply, reply))
                entered.retain_gradients()
        except Exception:
            raise build_no_answer() from None
        for step in later:
            step()
        if error is not None:
            raise error
        return result

    def probe(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a probe in the student process, by its name. What it returns is the student's word, as of any call."""
        name = allowed_names.find_probe_name(function) or self._given(function)
        if name is None:
            raise TypeError(f"the probe {function.__name__} stands neither in labkit nor in a given cell")
        return self.operate(allowed_names.PROBE + name, "call", *args, **kwargs)

    def ask(self, *request: WireValue) -> WireValue:
        """The reply to a request. Raises ProbeError where a callback is being served: the other side waits for that."""
        if self.callbacks.serving:
            raise ProbeError("a function that a check passes to a student's function uses the student's objects")
        return self.connection.ask([*request, self.dropped.take()], self.callbacks)

    def _result(self, exchange: Exchange, sent: SentState, reply: CallReply) -> Any:
        self._new = []
        result = exchange.unpack(reply.result)
        differences = None if reply.differences is None else exchange.unpack(reply.differences)
        exchange.write_blocks(reply.blocks, sent.blocks)
        objects = sent.objects
        changes = Changes(objects, differences, sent.versions)
        changes.apply_before_connecting()
        inputs = [_check_tensor(objects[n]) for n in check_numbers(reply.edges, len(objects))]
        for n in check_numbers(reply.touched, 2**62):
            inputs += self._remotes[n]._inputs
        if reply.nodes:
            self._connect(exchange.objects, len(objects), inputs, reply.nodes)
        for remote in self._new:
            remote._inputs = inputs
        self._new = []
        later = changes.apply_after_connecting()
        return result, later, None if reply.raised is None else rebuild_exception(reply.raised, self.namespace)

    def _connect(self, objects: list[Any], sent: int, inputs: list[Tensor], nodes: WireValue) -> None:
        """Make the results of a call, and what it changed in place, part of the graph."""
        parts = [read(GraphNode, node) for node in nodes]
        if len(parts) > 1:
            changed = {id(objects[n]) for _, _, dirty, _ in parts for n in check_numbers(dirty, sent)}
            inputs = [snapshot_history(t) if id(t) in changed else t for t in inputs]
        for node, outputs, dirty, between in parts:
            made = [_check_tensor(objects[n]) for n in check_numbers(outputs, len(objects))]
            if any(n < sent for n in outputs):
                raise ProtocolError("an argument that is called a new result")
            recorded = [_check_tensor(objects[n]) for n in check_numbers(dirty, sent)]
            sources = [*inputs, *[_check_tensor(objects[n]) for n in check_numbers(between, len(objects))]]
            known = {id(t) for t in sources}
            sources += [t for t in recorded if id(t) not in known]
            RemoteNode.connect(Reply(self, check_number(node)), sources, made, recorded)

    def _name_of(self, value: Any) -> str | None:
        found = allowed_names.find_name(value)
        return self._given(value) if found is None and type(value) is not Remote else found

    def _given(self, value: Any) -> str | None:
        """Its name in the given cells. Its own comes first: a check's loop may use another given name for it."""
        own = getattr(value, "__name__", "")
        if self.namespace.get(own) is value:
            return allowed_names.GIVEN + str(own)
        given = next((n for n, known in self.namespace.items() if known is value), None)
        return None if given is None else allowed_names.GIVEN + given

    def _named(self, name: str) -> Any:
        if not name.startswith(allowed_names.GIVEN):
            return allowed_names.get_pure_named(name)
        given = self.namespace.get(name.removeprefix(allowed_names.GIVEN))
        if not callable(given):
            raise ProtocolError("no such given function")
        return given

    def _opaque(self, value: Any) -> WireValue:
        if type(value) is Remote and value._namespace is self:
            return value._target
        place = self.callbacks.get_number(value)
        if place is None:
            raise TypeError(f"a check passes a {type(value).__name__}: values, functions and iterators can be passed")
        return [CALLBACK, place]

    def _handle(self, packed: WireValue) -> Any:
        target, kinds = expect(packed, 2)
        if target == CALLBACK:
            return self.callbacks.object(kinds)
        if not isinstance(kinds, list):
            raise ProtocolError("malformed handle")
        remote = self._remotes.get(check_number(target))
        if remote is None:
            remote = self._remotes[target] = Remote(self, target, tuple(str(k)[:200] for k in kinds[:20]))
            self._new.append(remote)
            self.dropped.handles = [n for n in self.dropped.handles if n != target]
        return remote


def _check_tensor(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise ProtocolError("not a tensor")
    return value
