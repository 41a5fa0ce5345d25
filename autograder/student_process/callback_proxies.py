"""Proxies for the functions and objects that a check passes to the student's functions. The examiner serves each use.

A use is sent over the channel on which a call waits for its reply, so it's possible only while a call is served.
Threads and forks of this process take turns. If the examiner's results have a history, so do those here: backward
requests the vector-Jacobian product from the examiner, and may record itself.
"""

from __future__ import annotations

import os
import socket
import struct
import weakref
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from autograder.rpc import allowed_names
from autograder.rpc.blocks import CPU
from autograder.rpc.exceptions import unpack_exception
from autograder.rpc.fields import check_bytes, check_length, check_list, check_number
from autograder.rpc.flags import Flags, pack_flags, read_torch_flags
from autograder.rpc.frames import CALLBACK, WireValue, receive, send
from autograder.rpc.random_states import read_torch_state, set_torch_state
from autograder.rpc.requests import CallbackCall, CallbackReply, VjpRequest, read_message
from autograder.rpc.tensors import TensorTraits, make_leaf
from autograder.rpc.value_exchange import ValueExchange
from autograder.rpc.vjp import get_current_options

COUNT = struct.Struct("<Q")  # the uses so far: the token in a pipe, which a thread or process takes for its turn


class CallbackProxies:
    """The proxies of one channel.

    Args:
        namespace: The notebook's, to find exception types of the course.
    """

    def __init__(self, channel: socket.socket | None, namespace: Mapping[str, Any]) -> None:
        self._channel, self._namespace = channel, namespace
        self._proxies: weakref.WeakValueDictionary[int, Callback] = weakref.WeakValueDictionary()
        self._tickets: dict[weakref.ref[Any], int] = {}  # the storage of a ticket -> its node
        self._dropped: list[int] = []  # nodes without a reference here
        self._turn = os.pipe()
        os.write(self._turn[1], COUNT.pack(0))
        # The number of uses when this process last sent its state, and that state.
        self._sent: tuple[int, Flags | None, bytes | None] = (0, None, None)

    def __del__(self) -> None:
        for end in self._turn:
            os.close(end)

    def get_proxy(self, number: int) -> Callback:
        """Return the proxy for the examiner's object of this number, the same one as long as it's in use."""
        proxy = self._proxies.get(number)
        if proxy is None:
            proxy = self._proxies[number] = Callback(self, number)
        return proxy

    def end_call(self) -> list[int]:
        """Return the nodes that the examiner may forget. The next use sends the state of this process again."""
        self._sent = (0, None, None)
        return self._take_dropped()

    def _take_dropped(self) -> list[int]:
        dropped, self._dropped = self._dropped, []
        return dropped

    def use(self, number: int, operation: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Use the examiner's object and return the result. Raises what it raises, by type.

        Args:
            number: The object's number in the examiner.
            operation: The name of one of OPERATIONS.
        """
        exchange = self._create_exchange()
        message = exchange.pack((*args, *kwargs.values()))
        blocks, count = len(exchange.blocks), len(exchange.objects)
        reply = self._ask("use", *CallbackCall(number, operation, message, [*kwargs]))
        result = exchange.unpack(reply.result)
        exchange.write_blocks(reply.blocks, blocks)
        if reply.raised is not None:
            raise unpack_exception(reply.raised, self._namespace)
        if reply.node is not None:
            inputs = _select(exchange.objects, reply.edges)
            outputs = [exchange.objects[n] for n in map(check_number, check_list(reply.outputs)) if n >= count]
            self._connect(check_number(reply.node), inputs, outputs)
        return result

    def request_vjp(self, node: int, inputs: list[Tensor], grads: list[Tensor | None], request: list[Any]) -> list[Any]:
        """Return the gradients of a call's inputs, from those of its outputs.

        Args:
            request: The needed inputs, and the fields of a BackwardOptions.
        """
        exchange = self._create_exchange()
        message = exchange.pack(grads)
        reply = self._ask("vjp", *VjpRequest(node, message, *request))
        results: list[Any] = exchange.unpack(reply.result)
        exchange.write_blocks(reply.blocks, 0)
        if reply.raised is not None:
            raise unpack_exception(reply.raised, self._namespace)
        if reply.node is not None:
            incoming = _select(exchange.objects, reply.edges)
            self._connect(check_number(reply.node), [*inputs, *incoming], _select(results, reply.outputs))
        return results

    def _connect(self, node: int, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        ticket = torch.full((), node, dtype=torch.int64, device=CPU)
        self._tickets[weakref.ref(ticket.untyped_storage(), self._drop)] = node
        anchor = torch.zeros((), requires_grad=True, device=CPU)
        with torch.enable_grad():
            _Use.apply(self, ticket, outputs, anchor, *inputs)

    def _drop(self, ticket: weakref.ref[Any]) -> None:
        self._dropped.append(self._tickets.pop(ticket))

    def _ask(self, *request: WireValue) -> CallbackReply:
        """Wait for this thread's or fork's turn, send a request with changed global state, and return the reply."""
        if self._channel is None:
            raise RuntimeError("this process isn't connected to an examiner")
        token = os.read(self._turn[0], COUNT.size)  # waits for the turn
        try:
            (count,) = COUNT.unpack(token)
            sent_count, sent_flags, sent_state = self._sent
            if sent_count != count:  # another process has sent its own since
                sent_flags = sent_state = None
            flags, state = read_torch_flags(), read_torch_state()
            changes = [None if flags == sent_flags else pack_flags(flags), None if state == sent_state else state]
            send(self._channel, [CALLBACK, [*request, *changes, self._take_dropped()]])
            *reply, new_state = check_list(receive(self._channel))
            if new_state is not None:
                set_torch_state(new_state)
                state = check_bytes(new_state)
            self._sent = count + 1, flags, state
            token = COUNT.pack(count + 1)
        finally:
            os.write(self._turn[1], token)
        return read_message(CallbackReply, reply)

    def _create_exchange(self) -> ValueExchange:
        return ValueExchange(pack_opaque=self._pack_opaque, unpack_handle=self._unpack_handle, enter=_enter)

    def _pack_opaque(self, value: Any) -> WireValue:
        if type(value) is Callback and value._callbacks is self:
            return [CALLBACK, value._number]
        raise TypeError(f"a {type(value).__name__} can't be passed here, but numbers, texts, tensors and lists can")

    def _unpack_handle(self, packed: WireValue) -> Callback:
        _, number = check_length(packed, 2)
        return self.get_proxy(check_number(number))


class Callback:
    """A proxy for a function, an iterator, a context manager or an object of the caller."""

    def __init__(self, callbacks: CallbackProxies, number: int) -> None:
        self._callbacks, self._number = callbacks, number

    def _use(self, operation: str, *args: Any, **kwargs: Any) -> Any:
        return self._callbacks.use(self._number, operation, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._use("call", *args, **kwargs)

    def __iter__(self) -> Any:
        return self._use("iter")

    def __next__(self) -> Any:
        return self._use("next")

    def __len__(self) -> int:
        length: int = self._use("len")
        return length

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, key: Any) -> Any:
        return self._use("getitem", key)

    def __enter__(self) -> Any:
        return self._use("enter")

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: Any) -> bool:
        return bool(self._use("leave", None if kind is None else allowed_names.list_type_names(kind)[0]))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._use("getattr", name)

    def __copy__(self) -> Callback:
        return self

    def __deepcopy__(self, memo: Any) -> Callback:
        return self


class _Use(torch.autograd.Function):
    """The autograd node of a use.

    It saves its inputs and a ticket with the number of the examiner's node. If a checkpoint computes these again,
    backward finds the number from the later use, and the history of the earlier one is freed.
    """

    @staticmethod
    def forward(
        ctx: Any, callbacks: CallbackProxies, ticket: Tensor, outputs: list[Tensor], anchor: Tensor, *inputs: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.callbacks = callbacks
        ctx.save_for_backward(ticket, *inputs)
        ctx.set_materialize_grads(False)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        ticket, *inputs = ctx.saved_tensors
        needed = [n for n, is_needed in enumerate(ctx.needs_input_grad[4:]) if is_needed]
        request = [needed, *get_current_options(ctx.next_functions[1][0])]
        needed_grads = ctx.callbacks.request_vjp(int(ticket), inputs, list(grads), request)
        result: list[Tensor | None] = [None] * len(inputs)
        for n, grad in zip(needed, needed_grads, strict=True):
            result[n] = grad
        return (None, None, None, None, *result)


def _select(objects: list[Any], numbers: WireValue) -> list[Any]:
    return [objects[check_number(n, len(objects))] for n in check_list(numbers)]


def _enter(t: Tensor, traits: TensorTraits) -> Tensor:
    """Make leaves and parameters. Tensors with a history for the examiner get it later, in _connect()."""
    return make_leaf(t, traits) if traits.is_leaf else t
