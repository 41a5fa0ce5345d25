"""A check's own functions, iterators and objects, passed to a student's function: each use comes back and runs here.

What a check counts, records and computes in them is a fact, whatever the student's process says of itself.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.examiner.connection import Stopped, expect, number, numbers
from autograder.rpc.exceptions import pack_exception
from autograder.rpc.exchange import Exchange, arguments
from autograder.rpc.flags import Flags, inference_mode, read_flags, set_flags, unpack_flags
from autograder.rpc.frames import CALLBACK, Plain, ProtocolError
from autograder.rpc.messages import Product, Use, UseReply, read
from autograder.rpc.random_states import set_torch_state, torch_state
from autograder.rpc.tensors import as_leaf, differentiable
from autograder.rpc.told import Told, as_sent
from autograder.student import operations
from autograder.student.products import BackwardPass, Node, gradient_edge, vector_jacobian_product
from labkit.probes import ProbeError
from labkit.seen import Seen

MAX_USES = 20_000  # in one check cell
MAX_NODES = 2_000  # histories kept at a time
MAX_KEPT = 2**30  # bytes of the arguments and results of these, by their shapes: memory that is expanded counts whole
FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinMethodType, functools.partial, Seen)
OPERATIONS: dict[str, Callable[..., Any]] = {
    **{name: operations.OPERATIONS[name] for name in ("call", "iter", "next", "len", "getitem", "enter")},
    "leave": lambda value, kind: operations.leave(value, kind and as_sent(kind)),
    "getattr": lambda value, name: _public(value, name),
}


class Callbacks:
    """What the checks of one cell passed to the student's functions, by number, and the histories of its uses."""

    def __init__(self) -> None:
        self._objects: list[Any] = []
        self._nodes: dict[int, Node] = {}
        self._bytes: dict[int, int] = {}  # of each of them
        self._uses = self._made = self._kept = 0
        self.serving = False
        self._flags: Flags | None = None  # that the student's process told last, and the state of its random numbers
        self._state = b""

    def number_of(self, value: Any) -> int | None:
        """Its number, by which the student's process uses it. None where it is nothing to be used from there."""
        if not is_callback(value):
            return None
        known = next((n for n, other in enumerate(self._objects) if other is value), None)
        if known is None:
            known = len(self._objects)
            self._objects.append(value)
        return known

    def object(self, place: Any) -> Any:
        return self._objects[number(place, len(self._objects))]

    def forget(self, nodes: Plain) -> None:
        """The student's process cannot come back to these uses. Raises ProtocolError."""
        for node in numbers(nodes, 2**62):
            self._nodes.pop(node, None)
            self._kept -= self._bytes.pop(node, 0)

    def serve(self, request: Plain) -> Plain:
        """The reply to a use. Raises ProtocolError where it is none, and Stopped."""
        self._uses += 1
        if self._uses > MAX_USES:
            raise Stopped(f"a function of this check was called more than {MAX_USES} times")
        if self.serving:
            raise ProtocolError("a use within a use")
        if not isinstance(request, list) or len(request) < 4:
            raise ProtocolError("malformed use")
        kind, *rest, flags, state, dropped = request
        self.forget(dropped)
        mine, my_state, self.serving = read_flags(), torch_state(), True
        try:
            told = self._told(flags, state)
            with inference_mode(told.inference):
                set_flags(told, mine)
                if self._state != my_state:
                    set_torch_state(self._state)
                if kind == "vjp":
                    return [*self._product(read(Product, rest)), self._new_state()]
                if kind == "use":
                    return [*self._use(read(Use, rest)), self._new_state()]
                raise ProtocolError("a use of no kind")
        except (ProtocolError, Stopped, ProbeError):
            raise
        except Exception as error:
            raise ProtocolError(f"malformed use: {type(error).__name__}") from None
        finally:
            torch.clear_autocast_cache()  # else a cast of a weight outlives a change of it
            set_flags(mine, read_flags())
            if torch_state() != my_state:
                set_torch_state(my_state)
            self.serving = False

    def _told(self, flags: Plain, state: Plain) -> Flags:
        """What a use says of the student's process, which is None of what it told before."""
        if flags is not None:
            self._flags = unpack_flags(flags)
        if state is not None:
            self._state = state
        if self._flags is None or not self._state:
            raise ProtocolError("a state that was never told")
        return self._flags

    def _new_state(self) -> bytes | None:
        """That of the random numbers, where the use has drawn some."""
        state = torch_state()
        if state == self._state:
            return None
        self._state = state
        return state

    def _use(self, use: Use) -> UseReply:
        value, operate = self.object(use.number), OPERATIONS[use.operation]
        exchange = self._exchange()
        args, kwargs = arguments(exchange.unpack(use.arguments), use.keywords, Told)
        blocks, count = len(exchange.blocks), len(exchange.objects)
        edges = [n for n, arrived in enumerate(exchange.objects) if differentiable(arrived)]
        inputs = [gradient_edge(exchange.objects[n]) for n in edges]
        try:
            result = operate(value, *args, **kwargs)
        except (Stopped, ProbeError):
            raise
        except Exception as error:
            failed = pack_exception(error), exchange.pack(None)
            return UseReply(*failed, exchange.changed_blocks(blocks), None, [], [])
        packed = exchange.pack(result)
        found = exchange.objects[count:]
        made = [count + n for n, t in enumerate(found) if differentiable(t) and not t.is_leaf]
        node = self._keep(inputs, [exchange.objects[n] for n in made], exchange.objects)
        return UseReply(None, packed, exchange.changed_blocks(blocks), node, edges, made)

    def _product(self, product: Product) -> UseReply:
        node = self._nodes[number(product.node)]
        exchange = self._exchange()
        grads = exchange.unpack(product.gradients)
        edges = [n for n, grad in enumerate(exchange.objects) if differentiable(grad)]
        incoming = [gradient_edge(exchange.objects[n]) for n in edges]
        wanted = [number(n, len(node.inputs)) for n in product.needed]
        how = BackwardPass(
            number(product.task), product.keep is True, product.create is True, product.accumulate is True
        )
        try:
            torch.set_grad_enabled(how.create)  # serve() sets it back
            found = vector_jacobian_product(node, grads, wanted, how)
        except (Stopped, ProbeError):
            raise
        except Exception as error:
            return UseReply(pack_exception(error), exchange.pack([]), [], None, [], [])
        made = [n for n, grad in enumerate(found) if how.create and differentiable(grad)]
        new = self._keep([*node.inputs, *incoming], [found[n] for n in made], exchange.objects, shared=True)
        return UseReply(None, exchange.pack(found), [], new, edges, made)

    def _keep(self, inputs: list[Any], outputs: list[Any], held: list[Any], shared: bool = False) -> int | None:
        """The number of a new history, which may hold these objects. None where there is nothing to go back from."""
        if not outputs:
            return None
        size = sum(t.numel() * t.element_size() for t in held if isinstance(t, Tensor))
        if len(self._nodes) >= MAX_NODES or self._kept + size > MAX_KEPT:
            raise Stopped("too many results of this check's functions are kept for backward")
        self._made += 1
        self._kept += size
        self._bytes[self._made] = size
        self._nodes[self._made] = Node(inputs, [gradient_edge(t) for t in outputs], shared=shared)
        return self._made

    def _exchange(self) -> Exchange:
        return Exchange(opaque=self._opaque, handle=self.handle, enter=as_leaf, told=True)

    def _opaque(self, value: Any) -> Plain:
        place = self.number_of(value)
        if place is None:
            raise ProbeError(f"a function of this check gives a {type(value).__name__}, which cannot be passed")
        return [CALLBACK, place]

    def handle(self, packed: Plain) -> Any:
        """The check's own object, handed back."""
        tag, place = expect(packed, 2)
        if tag != CALLBACK:
            raise ProtocolError("an object of the student's in a use")
        return self.object(place)


def is_callback(value: Any) -> bool:
    """Whether this is a function or iterator, or an object of a class that the course defines."""
    kind = type(value)
    return isinstance(value, FUNCTIONS) or hasattr(kind, "__next__") or _is_course(kind)


def _is_course(kind: type) -> bool:
    return kind.__module__ == "__main__" and not issubclass(kind, torch.nn.Module | Tensor)


def _public(value: Any, name: Any) -> Any:
    """An attribute of an object of the course's. Of functions and iterators there is none."""
    if not isinstance(name, str) or name.startswith("_") or not _is_course(type(value)):
        raise AttributeError(name)
    return getattr(value, name)
