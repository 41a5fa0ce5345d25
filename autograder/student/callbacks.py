"""What a check passed to the student's functions and kept: a proxy here, each use of which the examiner serves.

A use goes over the channel on which a call waits for its reply, so it can be made only while a call is served. Threads
and forks of this process take turns. Results have a history where the examiner's have one: a backward pass that comes
to it asks the examiner for the vector-Jacobian product, which may record itself.
"""

from __future__ import annotations

import os
import socket
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import get_gradient_edge

from autograder.rpc import names
from autograder.rpc.exchange import Exchange
from autograder.rpc.frames import CALLBACK, Plain, receive, send
from autograder.rpc.global_state import read_flags, torch_state
from autograder.rpc.raised import unpack_exception
from autograder.rpc.tensors import Role, as_leaf, from_packed
from autograder.student.graph import this_pass


class Callbacks:
    """One channel's. namespace: the notebook's, for exceptions of the course's own."""

    def __init__(self, channel: socket.socket | None, namespace: Mapping[str, Any]) -> None:
        self._channel, self._namespace = channel, namespace
        self._known: weakref.WeakValueDictionary[int, Callback] = weakref.WeakValueDictionary()
        self._dropped: list[int] = []  # uses whose history nothing here refers to any more
        self._turn = os.pipe()
        os.write(self._turn[1], b"1")

    def __del__(self) -> None:
        for end in self._turn:
            os.close(end)

    def proxy(self, number: int) -> Callback:
        """What stands for the examiner's object of this number: the same one as long as it is in use."""
        found = self._known.get(number)
        if found is None:
            found = self._known[number] = Callback(self, number)
        return found

    def dropped(self) -> list[int]:
        """Uses to be told to the examiner as forgotten, each once."""
        taken, self._dropped = self._dropped, []
        return taken

    def use(self, number: int, operation: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the examiner's object gives. Raises what it raises, by type."""
        exchange = self._exchange()
        message = exchange.pack((args, kwargs))
        blocks, count = len(exchange.blocks), len(exchange.objects)
        raised, packed, changed, node, edges, made = self._ask("use", number, operation, message)
        result = exchange.unpack(packed)
        exchange.write_blocks(changed, blocks)
        if raised is not None:
            raise unpack_exception(raised, self._namespace)
        if node is not None:
            inputs = [exchange.objects[n] for n in edges]
            outputs = [exchange.objects[n] for n in made if n >= count]
            self._connect(node, inputs, outputs)
        return result

    def product(self, node: int, inputs: list[Tensor], grads: list[Tensor | None], how: list[Any]) -> list[Any]:
        """Gradients of the inputs of a use, for these of its outputs. how: which inputs, and a Pass."""
        exchange = self._exchange()
        message = exchange.pack(grads)
        raised, packed, changed, new, edges, made = self._ask("vjp", node, message, *how)
        found: list[Any] = exchange.unpack(packed)
        exchange.write_blocks(changed, 0)
        if raised is not None:
            raise unpack_exception(raised, self._namespace)
        if new is not None:
            incoming = [exchange.objects[n] for n in edges]
            self._connect(new, [*inputs, *incoming], [found[n] for n in made])
        return found

    def _connect(self, node: int, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        ticket = torch.tensor(node, device="cpu")
        weakref.finalize(ticket.untyped_storage(), self._dropped.append, node)
        anchor = torch.zeros((), requires_grad=True, device="cpu")
        with torch.enable_grad():
            _Use.apply(self, ticket, outputs, anchor, *inputs)  # type: ignore[no-untyped-call]

    def _ask(self, *request: Plain) -> Any:
        if self._channel is None:
            raise RuntimeError("nobody is there to call")
        with self._my_turn():
            send(self._channel, [CALLBACK, [*request, read_flags(), torch_state(), self.dropped()]])
            *reply, state = receive(self._channel)
        torch.set_rng_state(from_packed(state))
        return reply

    @contextmanager
    def _my_turn(self) -> Iterator[None]:
        os.read(self._turn[0], 1)
        try:
            yield
        finally:
            os.write(self._turn[1], b"1")

    def _exchange(self) -> Exchange:
        return Exchange(opaque=self._opaque, handle=self._handle, enter=_enter)

    def _opaque(self, value: Any) -> Plain:
        if type(value) is Callback and value._callbacks is self:
            return [CALLBACK, value._number]
        raise TypeError(f"a {type(value).__name__} cannot be passed here, but numbers, texts, tensors and lists can")

    def _handle(self, packed: Plain) -> Callback:
        return self.proxy(packed[1])


class Callback:
    """Stands for a function, an iterator, a context manager or an object of the caller's."""

    def __init__(self, callbacks: Callbacks, number: int) -> None:
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
        return bool(self._use("leave", None if kind is None else names.type_names(kind)[0]))

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
        ctx: Any, callbacks: Callbacks, ticket: Tensor, outputs: list[Tensor], anchor: Tensor, *inputs: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.callbacks, ctx.anchor = callbacks, get_gradient_edge(anchor).node
        ctx.save_for_backward(ticket, *inputs)
        ctx.set_materialize_grads(False)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        ticket, *inputs = ctx.saved_tensors
        needed = [n for n, wanted in enumerate(ctx.needs_input_grad[4:]) if wanted]
        found = ctx.callbacks.product(int(ticket), inputs, list(grads), [needed, *astuple(this_pass(ctx.anchor))])
        result: list[Tensor | None] = [None] * len(inputs)
        for n, grad in zip(needed, found, strict=True):
            result[n] = grad
        return (None, None, None, None, *result)


def _enter(t: Tensor, role: Role) -> Tensor:
    """What has a history for the examiner gets one here, by _connect."""
    return as_leaf(t, role) if role.is_leaf else t
