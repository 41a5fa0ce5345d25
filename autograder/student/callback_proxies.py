"""What a check passed to the student's functions and kept: a proxy here, each use of which the examiner serves.

A use goes over the channel on which a call waits for its reply, so it can be made only while a call is served. Threads
and forks of this process take turns. Results have a history where the examiner's have one: a backward pass that comes
to it asks the examiner for the vector-Jacobian product, which may record itself.
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
from autograder.rpc.exchange import Exchange
from autograder.rpc.flags import Flags, pack_flags, read_flags
from autograder.rpc.frames import CALLBACK, WireValue, receive, send
from autograder.rpc.messages import Product, Use, UseReply, read
from autograder.rpc.random_states import set_torch_state, torch_state
from autograder.rpc.tensors import Role, make_leaf
from autograder.student.products import get_current_pass

COUNT = struct.Struct("<Q")  # of the uses so far: the token that whoever has the turn takes from a pipe


class CallbackProxies:
    """One channel's. namespace: the notebook's, for exceptions of the course's own."""

    def __init__(self, channel: socket.socket | None, namespace: Mapping[str, Any]) -> None:
        self._channel, self._namespace = channel, namespace
        self._known: weakref.WeakValueDictionary[int, Callback] = weakref.WeakValueDictionary()
        self._tickets: dict[weakref.ref[Any], int] = {}  # of the storage of each: the use
        self._dropped: list[int] = []  # uses whose history nothing here refers to any more
        self._turn = os.pipe()
        os.write(self._turn[1], COUNT.pack(0))
        self._told: tuple[int, Flags | None, bytes | None] = (0, None, None)  # after so many uses

    def __del__(self) -> None:
        for end in self._turn:
            os.close(end)

    def get_proxy(self, number: int) -> Callback:
        """What stands for the examiner's object of this number: the same one as long as it is in use."""
        found = self._known.get(number)
        if found is None:
            found = self._known[number] = Callback(self, number)
        return found

    def end_call(self) -> list[int]:
        """Uses to be told to the examiner as forgotten. What it knows of this process' state ends with the call."""
        self._told = (0, None, None)
        return self._take_dropped()

    def _take_dropped(self) -> list[int]:
        taken, self._dropped = self._dropped, []
        return taken

    def use(self, number: int, operation: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the examiner's object gives. Raises what it raises, by type."""
        exchange = self._exchange()
        message = exchange.pack((*args, *kwargs.values()))
        blocks, count = len(exchange.blocks), len(exchange.objects)
        reply = self._ask("use", *Use(number, operation, message, [*kwargs]))
        result = exchange.unpack(reply.result)
        exchange.write_blocks(reply.blocks, blocks)
        if reply.raised is not None:
            raise unpack_exception(reply.raised, self._namespace)
        if reply.node is not None:
            inputs = [exchange.objects[n] for n in reply.edges]
            outputs = [exchange.objects[n] for n in reply.made if n >= count]
            self._connect(reply.node, inputs, outputs)
        return result

    def product(self, node: int, inputs: list[Tensor], grads: list[Tensor | None], how: list[Any]) -> list[Any]:
        """Gradients of the inputs of a use, for these of its outputs. how: which inputs, and a BackwardPass."""
        exchange = self._exchange()
        message = exchange.pack(grads)
        reply = self._ask("vjp", *Product(node, message, *how))
        found: list[Any] = exchange.unpack(reply.result)
        exchange.write_blocks(reply.blocks, 0)
        if reply.raised is not None:
            raise unpack_exception(reply.raised, self._namespace)
        if reply.node is not None:
            incoming = [exchange.objects[n] for n in reply.edges]
            self._connect(reply.node, [*inputs, *incoming], [found[n] for n in reply.made])
        return found

    def _connect(self, node: int, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        ticket = torch.full((), node, dtype=torch.int64, device=CPU)
        self._tickets[weakref.ref(ticket.untyped_storage(), self._ended)] = node
        anchor = torch.zeros((), requires_grad=True, device=CPU)
        with torch.enable_grad():
            _Use.apply(self, ticket, outputs, anchor, *inputs)  # type: ignore[no-untyped-call]

    def _ended(self, ticket: weakref.ref[Any]) -> None:
        self._dropped.append(self._tickets.pop(ticket))

    def _ask(self, *request: WireValue) -> UseReply:
        if self._channel is None:
            raise RuntimeError("nobody is there to call")
        token = os.read(self._turn[0], COUNT.size)  # waits for the turn
        try:
            (count,) = COUNT.unpack(token)
            known, flags, state = self._told
            if known != count:  # another process has told its own since
                flags = state = None
            now, drawn = read_flags(), torch_state()
            told = [None if now == flags else pack_flags(now), None if drawn == state else drawn]
            send(self._channel, [CALLBACK, [*request, *told, self._take_dropped()]])
            *reply, new = receive(self._channel)
            if new is not None:
                set_torch_state(new)
                drawn = new
            self._told = count + 1, now, drawn
            token = COUNT.pack(count + 1)
        finally:
            os.write(self._turn[1], token)
        return read(UseReply, reply)

    def _exchange(self) -> Exchange:
        return Exchange(opaque=self._opaque, handle=self._handle, enter=_enter)

    def _opaque(self, value: Any) -> WireValue:
        if type(value) is Callback and value._callbacks is self:
            return [CALLBACK, value._number]
        raise TypeError(f"a {type(value).__name__} cannot be passed here, but numbers, texts, tensors and lists can")

    def _handle(self, packed: WireValue) -> Callback:
        return self.get_proxy(packed[1])


class Callback:
    """Stands for a function, an iterator, a context manager or an object of the caller's."""

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
    """The history of what a use gave.

    Its node saves its inputs and a ticket, which holds the number of the use. Where these are computed again, as a
    checkpoint does, backward finds the number of the later use, and the history of the earlier one is free.
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
        needed = [n for n, wanted in enumerate(ctx.needs_input_grad[4:]) if wanted]
        found = ctx.callbacks.product(
            int(ticket), inputs, list(grads), [needed, *get_current_pass(ctx.next_functions[1][0])]
        )
        result: list[Tensor | None] = [None] * len(inputs)
        for n, grad in zip(needed, found, strict=True):
            result[n] = grad
        return (None, None, None, None, *result)


def _enter(t: Tensor, role: Role) -> Tensor:
    """What has a history for the examiner gets one here, by _connect."""
    return make_leaf(t, role) if role.is_leaf else t
