"""A check's own functions, iterators and objects, passed to a student's function: each use comes back and runs here.

What a check counts, records and computes in them is a fact, whatever the student's process says of itself.
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
from autograder.rpc.exceptions import pack_exception
from autograder.rpc.exchange import Exchange, split_arguments
from autograder.rpc.flags import Flags, read_flags, set_flags, unpack_flags, use_inference_mode
from autograder.rpc.frames import CALLBACK, ProtocolError, WireValue
from autograder.rpc.masked_text import MaskedText, unmask_text
from autograder.rpc.messages import Product, Use, UseReply, read
from autograder.rpc.random_states import set_torch_state, torch_state
from autograder.rpc.tensors import is_differentiable, make_leaf
from autograder.student import operations
from autograder.student.products import BackwardPass, Node, compute_vjp, find_gradient_edge
from labkit.probes import ProbeError
from labkit.recorded_calls import Seen

MAX_USES = 20_000  # in one check cell
MAX_NODES = 2_000  # histories kept at a time
MAX_KEPT = 2**30  # bytes of the arguments and results of these, by their shapes: memory that is expanded counts whole
FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinMethodType, functools.partial, Seen)
OPERATIONS: dict[str, Callable[..., Any]] = {
    **{name: operations.OPERATIONS[name] for name in ("iter", "next", "len", "getitem", "enter")},
    "call": lambda value, *args, **kwargs: _call(value, args, kwargs),
    "leave": lambda value, kind: operations.leave(value, kind and unmask_text(kind)),
    "getattr": lambda value, name: _get_public(value, name),
}


class Callbacks:
    """What the checks of one cell passed to the student's functions, by number, and the histories of its uses."""

    def __init__(self, check: Callable[[], int] = lambda: 0) -> None:
        """check: the number of the check that runs, 0 before the first."""
        self._objects: list[Any] = []
        self._passed: list[int] = []  # in which check each was passed last
        self._check = check
        self._nodes: dict[int, Node] = {}
        self._bytes: dict[int, int] = {}  # of each of them
        self._uses = self._made = self._kept = 0
        self.serving = False
        self._flags: Flags | None = None  # that the student's process told last, and the state of its random numbers
        self._state = b""

    def get_number(self, value: Any) -> int | None:
        """Its number, by which the student's process uses it. None where it is nothing to be used from there."""
        if not is_callback(value):
            return None
        known = next((n for n, other in enumerate(self._objects) if other is value), None)
        if known is None:
            known = len(self._objects)
            self._objects.append(value)
            self._passed.append(0)
        self._passed[known] = self._check()
        return known

    def object(self, place: Any) -> Any:
        return self._objects[check_number(place, len(self._objects))]

    def _is_over(self, place: int) -> bool:
        """Whether an earlier check passed this: what is done with it now would be in no record of this one."""
        return self._passed[place] not in (0, self._check())

    def forget(self, nodes: WireValue) -> None:
        """The student's process cannot come back to these uses. Raises ProtocolError."""
        for node in check_numbers(nodes, 2**62):
            self._nodes.pop(node, None)
            self._kept -= self._bytes.pop(node, 0)

    def serve(self, request: WireValue) -> WireValue:
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
            with use_inference_mode(told.inference):
                set_flags(told, mine)
                if self._state != my_state:
                    set_torch_state(self._state)
                if kind == "vjp":
                    return [*self._serve_product(read(Product, rest)), self._read_new_state()]
                if kind == "use":
                    return [*self._use(read(Use, rest)), self._read_new_state()]
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

    def _told(self, flags: WireValue, state: WireValue) -> Flags:
        """What a use says of the student's process, which is None of what it told before."""
        if flags is not None:
            self._flags = unpack_flags(flags)
        if state is not None:
            self._state = state
        if self._flags is None or not self._state:
            raise ProtocolError("a state that was never told")
        return self._flags

    def _read_new_state(self) -> bytes | None:
        """That of the random numbers, where the use has drawn some."""
        state = torch_state()
        if state == self._state:
            return None
        self._state = state
        return state

    def _use(self, use: Use) -> UseReply:
        value, operate = self.object(use.number), OPERATIONS[use.operation]
        if self._is_over(use.number):
            operate = _refuse_earlier
        exchange = self._exchange()
        args, kwargs = split_arguments(exchange.unpack(use.arguments), use.keywords, MaskedText)
        blocks, count = len(exchange.blocks), len(exchange.objects)
        edges = [n for n, arrived in enumerate(exchange.objects) if is_differentiable(arrived)]
        inputs = [find_gradient_edge(exchange.objects[n]) for n in edges]
        try:
            result = operate(value, *args, **kwargs)
        except (Stopped, ProbeError):
            raise
        except Exception as error:
            failed = pack_exception(error), exchange.pack(None)
            return UseReply(*failed, exchange.changed_blocks(blocks), None, [], [])
        packed = exchange.pack(result)
        found = exchange.objects[count:]
        made = [count + n for n, t in enumerate(found) if is_differentiable(t) and not t.is_leaf]
        node = self._keep(inputs, [exchange.objects[n] for n in made], exchange.objects)
        return UseReply(None, packed, exchange.changed_blocks(blocks), node, edges, made)

    def _serve_product(self, product: Product) -> UseReply:
        node = self._nodes[check_number(product.node)]
        exchange = self._exchange()
        grads = exchange.unpack(product.gradients)
        edges = [n for n, grad in enumerate(exchange.objects) if is_differentiable(grad)]
        incoming = [find_gradient_edge(exchange.objects[n]) for n in edges]
        wanted = [check_number(n, len(node.inputs)) for n in product.needed]
        how = BackwardPass(
            check_number(product.task), product.keep is True, product.create is True, product.accumulate is True
        )
        try:
            torch.set_grad_enabled(how.create)  # serve() sets it back
            found = compute_vjp(node, grads, wanted, how)
        except (Stopped, ProbeError):
            raise
        except Exception as error:
            return UseReply(pack_exception(error), exchange.pack([]), [], None, [], [])
        made = [n for n, grad in enumerate(found) if how.create and is_differentiable(grad)]
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
        self._nodes[self._made] = Node(inputs, [find_gradient_edge(t) for t in outputs], shared=shared)
        return self._made

    def _exchange(self) -> Exchange:
        return Exchange(opaque=self._opaque, handle=self.handle, enter=make_leaf, told=True)

    def _opaque(self, value: Any) -> WireValue:
        place = self.get_number(value)
        if place is None:
            raise ProbeError(f"a function of this check gives a {type(value).__name__}, which cannot be passed")
        return [CALLBACK, place]

    def handle(self, packed: WireValue) -> Any:
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


def _get_public(value: Any, name: Any) -> Any:
    """A method or property of an object of the course's, or an attribute that its class names in `offers`.

    Others are the check's own records, and the functions that don't keep any. Of functions and iterators there is none.
    """
    if not isinstance(name, str) or name.startswith("_") or not _is_course(type(value)):
        raise AttributeError(name)
    if not hasattr(type(value), name) and name not in getattr(type(value), "offers", ()):
        raise AttributeError(name)
    return getattr(value, name)


def _call(value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a call that replaces no record which the check has bound."""
    for name in _iter_bound_names(value, len(args), kwargs):
        raise TypeError(f"the argument {name!r} is the check's own")
    return value(*args, **kwargs)


def _iter_bound_names(value: Any, count: int, names: Iterable[str]) -> Iterator[str]:
    """Of the parameters that a call would give, those that the course has bound: by a default, or by partial().

    A parameter whose default is None is one that a caller may give.

    Args:
        value: What is called.
        count: Of positional arguments.
        names: Of keyword arguments.
    """
    names, skipped = list(names), 0
    while isinstance(value, Seen | functools.partial):
        if isinstance(value, functools.partial):
            yield from (name for name in names if name in value.keywords)
            skipped += len(value.args)
            value = value.func
        else:
            value = value._f
    if _is_course(type(value)):
        value = value.__call__
    if not isinstance(value, types.FunctionType | types.MethodType):
        return
    parameters = list(inspect.signature(value).parameters.values())
    bound = {each.name for each in parameters if each.default not in (inspect.Parameter.empty, None)}
    places = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    yield from (name for name in (*places[skipped : skipped + count], *names) if name in bound)


def _refuse_earlier(*_: Any, **__: Any) -> Any:
    raise RuntimeError("this was passed by an earlier check, and is used after it")
