"""Calls of the objects of one student process, with everything that a call can change."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from autograder.examiner.callbacks import Callbacks
from autograder.examiner.connection import DroppedReferences, Requester, build_invalid_reply
from autograder.examiner.node import ArrivingTensors, RemoteNode, Reply, snapshot_history
from autograder.examiner.proxies import StudentProxy
from autograder.examiner.reported_changes import ReportedChanges, read_versions
from autograder.examiner.student_exceptions import rebuild_exception
from autograder.rpc import allowed_names
from autograder.rpc.fields import check_length, check_list, check_number, check_numbers
from autograder.rpc.flags import use_inference_mode
from autograder.rpc.frames import CALLBACK, ProtocolError, WireValue
from autograder.rpc.requests import Call, CallReply, GraphNode, read_message
from autograder.rpc.value_exchange import ValueExchange
from labkit.probes import ProbeError


class SentExchange(NamedTuple):
    """The exchange of a call as it was sent."""

    blocks: int
    """How many blocks of memory it contained."""
    objects: list[Any]
    versions: list[int]
    """The version counters of the objects."""


class CallResult(NamedTuple):
    """What a call gave, with the changes that it made to its arguments applied."""

    value: Any
    deferred: Sequence[Callable[[], None]]
    """What is left to apply. It may call hooks."""
    error: BaseException | None
    """What the call raised."""


class RemoteNamespace:
    """The objects of one student process.

    Args:
        connection: Leads to the process.
        namespace: The course's names, to find given functions.
        get_check: Returns the number of the running check, 0 before the first.
    """

    def __init__(
        self, connection: Requester, namespace: Mapping[str, Any], get_check: Callable[[], int] = lambda: 0
    ) -> None:
        self.connection = connection
        self.namespace = namespace
        self.dropped = DroppedReferences()
        self.callbacks = Callbacks(get_check)
        self._new: list[StudentProxy] = []  # created while the current reply is unpacked
        self._proxies: weakref.WeakValueDictionary[int, StudentProxy] = weakref.WeakValueDictionary()

    def get_proxy(self, name: str) -> StudentProxy:
        """Return a proxy for the object that an exercise defines under this name."""
        return StudentProxy(self, name, None)

    def operate(self, target: str | int, operation: str, *args: Any, **kwargs: Any) -> Any:
        """Run an operation on a student's object. Raises what the student's code raised, by type, or StoppedError."""
        arriving = ArrivingTensors()
        exchange = ValueExchange(
            self._find_name, self._resolve_function, self._pack_opaque, self._unpack_handle, arriving.enter, masked=True
        )
        message = exchange.pack((*args, *kwargs.values()))
        sent = SentExchange(len(exchange.blocks), list(exchange.objects), read_versions(exchange.objects))
        reply = self.ask("call", *Call(target, operation, message, [*kwargs]))
        try:
            # In inference mode too, a reply consists of ordinary tensors, except those marked as inference tensors.
            with use_inference_mode(False), torch.no_grad():
                result = self._read_reply(exchange, sent, read_message(CallReply, reply))
                arriving.retain_gradients()
        except Exception:
            raise build_invalid_reply() from None
        for step in result.deferred:
            step()
        if result.error is not None:
            raise result.error
        return result.value

    def probe(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a probe in the student process by its name. The result is only the student process's word."""
        name = allowed_names.find_probe_name(function) or self._find_given_name(function)
        if name is None:
            raise TypeError(f"the probe {function.__name__} is defined neither in labkit nor in a given cell")
        return self.operate(allowed_names.PROBE + name, "call", *args, **kwargs)

    def ask(self, *request: WireValue) -> WireValue:
        """Return the reply to a request. Raises ProbeError while a callback is served: the other side waits for it."""
        if self.callbacks.is_serving:
            raise ProbeError("a function that a check passes to a student's function uses the student's objects")
        reply: WireValue = self.connection.ask([*request, self.dropped.take()], self.callbacks)
        return reply

    def _read_reply(self, exchange: ValueExchange, sent: SentExchange, reply: CallReply) -> CallResult:
        """Unpack the reply to a call, and apply the changes that it reports."""
        self._new = []
        value = exchange.unpack(reply.result)
        differences = None if reply.differences is None else exchange.unpack(reply.differences)
        exchange.write_blocks(reply.blocks, sent.blocks)
        objects = sent.objects
        changes = ReportedChanges(objects, differences, sent.versions)
        changes.apply_before_connecting()
        inputs = [_check_tensor(objects[n]) for n in check_numbers(reply.edges, len(objects))]
        for n in check_numbers(reply.touched, 2**62):
            inputs += self._proxies[n]._inputs
        error = None if reply.raised is None else rebuild_exception(reply.raised, self.namespace)
        if reply.nodes:
            try:
                self._connect(exchange.objects, len(objects), inputs, reply.nodes)
            except RuntimeError as refusal:  # autograd refuses what was done in place, as it would in one process
                error = error or refusal
        for proxy in self._new:
            proxy._inputs = inputs
        self._new = []
        deferred = changes.apply_after_connecting()
        return CallResult(value, deferred, error)

    def _connect(self, objects: list[Any], sent: int, inputs: list[Tensor], nodes: WireValue) -> None:
        """Make the results of a call, and the tensors it changed in place, part of the graph."""
        parts = [read_message(GraphNode, node) for node in check_list(nodes)]
        if len(parts) > 1:
            changed = {id(objects[n]) for _, _, dirty, _ in parts for n in check_numbers(dirty, sent)}
            inputs = [snapshot_history(t) if id(t) in changed else t for t in inputs]
        for node, outputs, dirty, between in parts:
            numbers = check_numbers(outputs, len(objects))
            results = [_check_tensor(objects[n]) for n in numbers]
            if any(n < sent for n in numbers):
                raise ProtocolError("an argument among the new results")
            recorded = [_check_tensor(objects[n]) for n in check_numbers(dirty, sent)]
            sources = [*inputs, *[_check_tensor(objects[n]) for n in check_numbers(between, len(objects))]]
            source_ids = {id(t) for t in sources}
            sources += [t for t in recorded if id(t) not in source_ids]
            RemoteNode.connect(Reply(self, check_number(node)), sources, results, recorded)

    def _find_name(self, value: Any) -> str | None:
        name = allowed_names.find_name(value)
        return self._find_given_name(value) if name is None and type(value) is not StudentProxy else name

    def _find_given_name(self, value: Any) -> str | None:
        """Return its name in the given cells. `__name__` comes first: a check's loop may use another given name."""
        name = getattr(value, "__name__", "")
        if self.namespace.get(name) is not value:
            name = next((n for n, given in self.namespace.items() if given is value), None)
        return None if name is None else f"{allowed_names.GIVEN}{name}"

    def _resolve_function(self, name: str) -> Any:
        if not name.startswith(allowed_names.GIVEN):
            return allowed_names.get_pure_named(name)
        given = self.namespace.get(name.removeprefix(allowed_names.GIVEN))
        if not callable(given):
            raise ProtocolError("no such given function")
        return given

    def _pack_opaque(self, value: Any) -> WireValue:
        if type(value) is StudentProxy and value._owner is self:
            return value._target
        number = self.callbacks.get_number(value)
        if number is None:
            raise TypeError(f"a check passes a {type(value).__name__}: values, functions and iterators can be passed")
        return [CALLBACK, number]

    def _unpack_handle(self, packed: WireValue) -> Any:
        target, kinds = check_length(packed, 2)
        if target == CALLBACK:
            return self.callbacks.get_object(kinds)
        if not isinstance(kinds, list):
            raise ProtocolError("malformed handle")
        handle = check_number(target)
        proxy = self._proxies.get(handle)
        if proxy is None:
            proxy = self._proxies[handle] = StudentProxy(self, handle, tuple(str(k)[:200] for k in kinds[:20]))
            self._new.append(proxy)
            self.dropped.remove_handle(handle)
        return proxy


def _check_tensor(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise ProtocolError("not a tensor")
    return value
