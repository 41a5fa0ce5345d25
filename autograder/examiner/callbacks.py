"""The functions, iterators and objects that a check passes to a student's function. Each use of one runs here.

What a check counts, records and computes in them is a fact, whatever the student process says about itself.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.examiner.connection import Stopped, check_number, check_numbers, expect
from autograder.rpc import operations
from autograder.rpc.exceptions import pack_exception
from autograder.rpc.exchange import Exchange, split_arguments
from autograder.rpc.flags import Flags, read_flags, set_flags, unpack_flags, use_inference_mode
from autograder.rpc.frames import CALLBACK, ProtocolError, WireValue
from autograder.rpc.masked_text import MaskedText, unmask_text
from autograder.rpc.random_states import set_torch_state, torch_state
from autograder.rpc.requests import Product, Use, UseReply, read
from autograder.rpc.tensors import is_differentiable, make_leaf
from autograder.rpc.vjp import BackwardPass, Node, compute_vjp, find_gradient_edge
from labkit.probes import ProbeError
from labkit.recorded_calls import Seen

MAX_USES = 20_000  # in one check cell
MAX_NODES = 2_000  # graph nodes kept at a time
MAX_KEPT = 2**30  # bytes of their arguments and results, by shape: expanded memory counts in full
FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinMethodType, functools.partial, Seen)
OPERATIONS: dict[str, Callable[..., Any]] = {
    **{name: operations.OPERATIONS[name] for name in ("iter", "next", "len", "getitem", "enter")},
    "call": lambda value, *args, **kwargs: _call(value, args, kwargs),
    "leave": lambda value, kind: operations.leave(value, kind and unmask_text(kind)),
    "getattr": lambda value, name: _get_public(value, name),
}


class Callbacks:
    """The objects that the checks of one cell passed to the student's functions, and the graph of their uses.

    Args:
        get_check: Returns the number of the running check, 0 before the first.
    """

    def __init__(self, get_check: Callable[[], int] = lambda: 0) -> None:
        self._objects: list[Any] = []
        self._last_checks: list[int] = []  # the check that passed each object last
        self._get_check = get_check
        self._nodes: dict[int, Node] = {}
        self._node_bytes: dict[int, int] = {}
        self._uses = self._last_node = self._kept_bytes = 0
        self.serving = False
        self._flags: Flags | None = None  # as the student process sent them last
        self._state = b""  # of its random numbers

    def get_number(self, value: Any) -> int | None:
        """Return the number by which the student process uses this object. None if it can't be used from there."""
        if not is_callback(value):
            return None
        number = next((n for n, other in enumerate(self._objects) if other is value), None)
        if number is None:
            number = len(self._objects)
            self._objects.append(value)
            self._last_checks.append(0)
        self._last_checks[number] = self._get_check()
        return number

    def object(self, number: Any) -> Any:
        return self._objects[check_number(number, len(self._objects))]

    def _is_from_earlier_check(self, number: int) -> bool:
        """Whether an earlier check passed this object, so the running check wouldn't see its use."""
        return self._last_checks[number] not in (0, self._get_check())

    def forget(self, nodes: WireValue) -> None:
        """Forget these nodes, which the student process can't reach any more. Raises ProtocolError."""
        for node in check_numbers(nodes, 2**62):
            self._nodes.pop(node, None)
            self._kept_bytes -= self._node_bytes.pop(node, 0)

    def serve(self, request: WireValue) -> WireValue:
        """Return the reply to a use. Raises ProtocolError for a malformed request, and Stopped."""
        self._uses += 1
        if self._uses > MAX_USES:
            raise Stopped(f"a function of this check was called more than {MAX_USES} times")
        if self.serving:
            raise ProtocolError("a use within a use")
        if not isinstance(request, list) or len(request) < 4:
            raise ProtocolError("malformed use")
        kind, *rest, flags, state, dropped = request
        self.forget(dropped)
        flags_before, state_before, self.serving = read_flags(), torch_state(), True
        try:
            student_flags = self._update_state(flags, state)
            with use_inference_mode(student_flags.inference):
                set_flags(student_flags, flags_before)
                if self._state != state_before:
                    set_torch_state(self._state)
                if kind == "vjp":
                    return [*self._serve_product(read(Product, rest)), self._read_new_state()]
                if kind == "use":
                    return [*self._use(read(Use, rest)), self._read_new_state()]
                raise ProtocolError("a use of an unknown kind")
        except (ProtocolError, Stopped, ProbeError):
            raise
        except Exception as error:
            raise ProtocolError(f"malformed use: {type(error).__name__}") from None
        finally:
            torch.clear_autocast_cache()  # else the cast of a weight outlives a change of it
            set_flags(flags_before, read_flags())
            if torch_state() != state_before:
                set_torch_state(state_before)
            self.serving = False

    def _update_state(self, flags: WireValue, state: WireValue) -> Flags:
        """Store the student process's flags and random state, each None if unchanged, and return its flags."""
        if flags is not None:
            self._flags = unpack_flags(flags)
        if state is not None:
            self._state = state
        if self._flags is None or not self._state:
            raise ProtocolError("a state that was never sent")
        return self._flags

    def _read_new_state(self) -> bytes | None:
        """Return the state of the random numbers if the use has drawn some, else None."""
        state = torch_state()
        if state == self._state:
            return None
        self._state = state
        return state

    def _use(self, use: Use) -> UseReply:
        value, operate = self.object(use.number), OPERATIONS[use.operation]
        if self._is_from_earlier_check(use.number):
            operate = _refuse_use
        exchange = self._exchange()
        args, kwargs = split_arguments(exchange.unpack(use.arguments), use.keywords, MaskedText)
        blocks, count = len(exchange.blocks), len(exchange.objects)
        edges = [n for n, value in enumerate(exchange.objects) if is_differentiable(value)]
        inputs = [find_gradient_edge(exchange.objects[n]) for n in edges]
        try:
            result = operate(value, *args, **kwargs)
        except (Stopped, ProbeError):
            raise
        except Exception as error:
            nothing = exchange.pack(None)
            return UseReply(pack_exception(error), nothing, exchange.changed_blocks(blocks), None, [], [])
        packed = exchange.pack(result)
        results = exchange.objects[count:]
        outputs = [count + n for n, t in enumerate(results) if is_differentiable(t) and not t.is_leaf]
        node = self._keep(inputs, [exchange.objects[n] for n in outputs], exchange.objects)
        return UseReply(None, packed, exchange.changed_blocks(blocks), node, edges, outputs)

    def _serve_product(self, product: Product) -> UseReply:
        node = self._nodes[check_number(product.node)]
        exchange = self._exchange()
        grads = exchange.unpack(product.gradients)
        edges = [n for n, grad in enumerate(exchange.objects) if is_differentiable(grad)]
        incoming = [find_gradient_edge(exchange.objects[n]) for n in edges]
        needed = [check_number(n, len(node.inputs)) for n in product.needed]
        backward = BackwardPass(
            check_number(product.task), product.keep is True, product.create is True, product.accumulate is True
        )
        try:
            torch.set_grad_enabled(backward.create)  # serve() resets it
            results = compute_vjp(node, grads, needed, backward)
        except (Stopped, ProbeError):
            raise
        except Exception as error:
            return UseReply(pack_exception(error), exchange.pack([]), [], None, [], [])
        outputs = [n for n, grad in enumerate(results) if backward.create and is_differentiable(grad)]
        new = self._keep([*node.inputs, *incoming], [results[n] for n in outputs], exchange.objects, shared=True)
        return UseReply(None, exchange.pack(results), [], new, edges, outputs)

    def _keep(self, inputs: list[Any], outputs: list[Any], objects: list[Any], shared: bool = False) -> int | None:
        """Keep a graph node for backward and return its number, or None if there are no outputs.

        Args:
            objects: What the node may keep alive, for the memory limit.
        """
        if not outputs:
            return None
        size = sum(t.numel() * t.element_size() for t in objects if isinstance(t, Tensor))
        if len(self._nodes) >= MAX_NODES or self._kept_bytes + size > MAX_KEPT:
            raise Stopped("too many results of this check's functions are kept for backward")
        self._last_node += 1
        self._kept_bytes += size
        self._node_bytes[self._last_node] = size
        self._nodes[self._last_node] = Node(inputs, [find_gradient_edge(t) for t in outputs], shared=shared)
        return self._last_node

    def _exchange(self) -> Exchange:
        return Exchange(pack_opaque=self._pack_opaque, unpack_handle=self._unpack_handle, enter=make_leaf, masked=True)

    def _pack_opaque(self, value: Any) -> WireValue:
        number = self.get_number(value)
        if number is None:
            raise ProbeError(f"a function of this check returns a {type(value).__name__}, which can't be passed")
        return [CALLBACK, number]

    def _unpack_handle(self, packed: WireValue) -> Any:
        """Return the check's own object that the student process passed back."""
        tag, number = expect(packed, 2)
        if tag != CALLBACK:
            raise ProtocolError("a student's object in a use")
        return self.object(number)


def is_callback(value: Any) -> bool:
    """Whether this is a function, an iterator, or an object of a class that the course defines."""
    kind = type(value)
    return isinstance(value, FUNCTIONS) or hasattr(kind, "__next__") or _is_course_class(kind)


def _is_course_class(kind: type) -> bool:
    return kind.__module__ == "__main__" and not issubclass(kind, torch.nn.Module | Tensor)


def _get_public(value: Any, name: Any) -> Any:
    """Return a method or property of a course object, or an attribute that its class lists in `offers`.

    Raises AttributeError for others: they are the check's records, or functions that record nothing. Functions and
    iterators have no public attributes.
    """
    if not isinstance(name, str) or name.startswith("_") or not _is_course_class(type(value)):
        raise AttributeError(name)
    if not hasattr(type(value), name) and name not in getattr(type(value), "offers", ()):
        raise AttributeError(name)
    return getattr(value, name)


def _call(value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the check's function. Raises TypeError if an argument would replace one that the check has bound."""
    for name in _iter_bound_names(value, len(args), kwargs):
        raise TypeError(f"the argument {name!r} is set by the check")
    return value(*args, **kwargs)


def _iter_bound_names(value: Any, count: int, names: Iterable[str]) -> Iterator[str]:
    """Yield the passed parameters that the course has bound, by a default other than None or by partial().

    Args:
        count: The number of positional arguments.
        names: The names of the keyword arguments.
    """
    names, skipped = list(names), 0
    while isinstance(value, Seen | functools.partial):
        if isinstance(value, functools.partial):
            yield from (name for name in names if name in value.keywords)
            skipped += len(value.args)
            value = value.func
        else:
            value = value._f
    if _is_course_class(type(value)):
        value = value.__call__
    if not isinstance(value, types.FunctionType | types.MethodType):
        return
    parameters = list(inspect.signature(value).parameters.values())
    bound = {p.name for p in parameters if p.default not in (inspect.Parameter.empty, None)}
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    yield from (name for name in (*positional[skipped : skipped + count], *names) if name in bound)


def _refuse_use(*_: Any, **__: Any) -> Any:
    raise RuntimeError("an earlier check passed this: it can't be used any more")
