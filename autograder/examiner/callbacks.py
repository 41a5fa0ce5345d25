"""The functions, iterators and objects that a check passes to a student's function. Each use of one runs here.

What a check counts, records and computes in them is a fact, whatever the student process says about itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from autograder.examiner.check_objects import OPERATIONS, is_callback, refuse_use
from autograder.examiner.node_store import NodeStore
from autograder.examiner.stopped_error import StoppedError
from autograder.rpc.exceptions import pack_exception
from autograder.rpc.fields import check_bytes, check_length, check_list, check_number, check_numbers, check_text
from autograder.rpc.flags import Flags, read_torch_flags, set_flags, unpack_flags, use_inference_mode
from autograder.rpc.frames import CALLBACK, ProtocolError, WireValue
from autograder.rpc.masked_text import MaskedText
from autograder.rpc.random_states import read_torch_state, set_torch_state
from autograder.rpc.requests import CallbackCall, CallbackReply, VjpRequest, read_message
from autograder.rpc.tensors import is_differentiable, make_leaf
from autograder.rpc.value_exchange import ValueExchange, split_arguments
from autograder.rpc.vjp import BackwardOptions, compute_vjp, find_gradient_edge
from labkit.probes import ProbeError

MAX_USES = 20_000  # in one check cell


class Callbacks:
    """The objects that the checks of one cell passed to the student's functions, and the graph of their uses.

    Args:
        get_check: Returns the number of the running check, 0 before the first.
    """

    def __init__(self, get_check: Callable[[], int] = lambda: 0) -> None:
        self._objects: list[Any] = []
        self._last_checks: list[int] = []  # the check that passed each object last
        self._get_check = get_check
        self._nodes = NodeStore()
        self._uses = 0
        self.is_serving = False
        self._flags: Flags | None = None  # as the student process sent them last
        self._state = b""  # of its random numbers

    def get_number(self, value: Any) -> int | None:
        """Return the number that the student process uses for this object; None if it can't use it."""
        if not is_callback(value):
            return None
        number = next((n for n, other in enumerate(self._objects) if other is value), None)
        if number is None:
            number = len(self._objects)
            self._objects.append(value)
            self._last_checks.append(0)
        self._last_checks[number] = self._get_check()
        return number

    def get_object(self, number: WireValue) -> Any:
        return self._objects[check_number(number, len(self._objects))]

    def _is_from_earlier_check(self, number: int) -> bool:
        """Return whether an earlier check passed this object, so the running check wouldn't see its use."""
        return self._last_checks[number] not in (0, self._get_check())

    def forget(self, nodes: WireValue) -> None:
        """Forget these nodes, which the student process can't reach any more. Raises ProtocolError."""
        self._nodes.forget(check_numbers(nodes, 2**62))

    def serve(self, request: WireValue) -> WireValue:
        """Return the reply to a use. Raises ProtocolError for a malformed request, and StoppedError."""
        self._uses += 1
        if self._uses > MAX_USES:
            raise StoppedError(f"a function of this check was called more than {MAX_USES} times")
        if self.is_serving:
            raise ProtocolError("a use within a use")
        if not isinstance(request, list) or len(request) < 4:
            raise ProtocolError("malformed use")
        kind, *rest, flags, state, dropped = request
        self.forget(dropped)
        flags_before, state_before, self.is_serving = read_torch_flags(), read_torch_state(), True
        try:
            student_flags = self._update_state(flags, state)
            with use_inference_mode(student_flags.inference):
                set_flags(student_flags, flags_before)
                if self._state != state_before:
                    set_torch_state(self._state)
                if kind == "vjp":
                    return [*self._serve_vjp(read_message(VjpRequest, rest)), self._read_new_state()]
                if kind == "use":
                    return [*self._serve_call(read_message(CallbackCall, rest)), self._read_new_state()]
                raise ProtocolError("a use of an unknown kind")
        except (ProtocolError, StoppedError, ProbeError):
            raise
        except Exception as error:
            raise ProtocolError(f"malformed use: {type(error).__name__}") from None
        finally:
            torch.clear_autocast_cache()  # else the cast of a weight outlives a change of it
            set_flags(flags_before, read_torch_flags())
            if read_torch_state() != state_before:
                set_torch_state(state_before)
            self.is_serving = False

    def _update_state(self, flags: WireValue, state: WireValue) -> Flags:
        """Store the student process's flags and random state, each None if unchanged, and return its flags."""
        if flags is not None:
            self._flags = unpack_flags(flags)
        if state is not None:
            self._state = check_bytes(state)
        if self._flags is None or not self._state:
            raise ProtocolError("a state that was never sent")
        return self._flags

    def _read_new_state(self) -> bytes | None:
        """Return the state of the random numbers if the use has drawn some, else None."""
        state = read_torch_state()
        if state == self._state:
            return None
        self._state = state
        return state

    def _serve_call(self, call: CallbackCall) -> CallbackReply:
        """Run an operation on an object, and add it to the graph. The reply includes an exception that it raises."""
        value, operate = self.get_object(call.number), OPERATIONS[check_text(call.operation)]
        if self._is_from_earlier_check(check_number(call.number)):
            operate = refuse_use
        exchange = self._create_exchange()
        args, kwargs = split_arguments(exchange.unpack(call.arguments), call.keywords, MaskedText)
        blocks, count = len(exchange.blocks), len(exchange.objects)
        edges = [n for n, value in enumerate(exchange.objects) if is_differentiable(value)]
        inputs = [find_gradient_edge(exchange.objects[n]) for n in edges]
        try:
            result = operate(value, *args, **kwargs)
        except (StoppedError, ProbeError):
            raise
        except Exception as error:
            nothing = exchange.pack(None)
            return CallbackReply(pack_exception(error), nothing, exchange.read_changed_blocks(blocks), None, [], [])
        packed = exchange.pack(result)
        results = exchange.objects[count:]
        outputs = [count + n for n, t in enumerate(results) if is_differentiable(t) and not t.is_leaf]
        node = self._nodes.add(inputs, [exchange.objects[n] for n in outputs], exchange.objects)
        return CallbackReply(None, packed, exchange.read_changed_blocks(blocks), node, edges, outputs)

    def _serve_vjp(self, request: VjpRequest) -> CallbackReply:
        """Compute the gradients that the student process's backward needs from an earlier use."""
        node = self._nodes.get(check_number(request.node))
        exchange = self._create_exchange()
        grads = exchange.unpack(request.gradients)
        edges = [n for n, grad in enumerate(exchange.objects) if is_differentiable(grad)]
        incoming = [find_gradient_edge(exchange.objects[n]) for n in edges]
        needed = [check_number(n, len(node.inputs)) for n in check_list(request.needed)]
        options = BackwardOptions(
            check_number(request.graph_task_id),
            request.retain_graph is True,
            request.create_graph is True,
            request.accumulate is True,
        )
        try:
            torch.set_grad_enabled(options.create_graph)  # serve() resets it
            results = compute_vjp(node, grads, needed, options)
        except (StoppedError, ProbeError):
            raise
        except Exception as error:
            return CallbackReply(pack_exception(error), exchange.pack([]), [], None, [], [])
        outputs = [n for n, grad in enumerate(results) if options.create_graph and is_differentiable(grad)]
        new = self._nodes.add([*node.inputs, *incoming], [results[n] for n in outputs], exchange.objects, shared=True)
        return CallbackReply(None, exchange.pack(results), [], new, edges, outputs)

    def _create_exchange(self) -> ValueExchange:
        return ValueExchange(
            pack_opaque=self._pack_opaque, unpack_handle=self._unpack_handle, enter=make_leaf, masked=True
        )

    def _pack_opaque(self, value: Any) -> WireValue:
        number = self.get_number(value)
        if number is None:
            raise ProbeError(f"a function of this check returns a {type(value).__name__}, which can't be passed")
        return [CALLBACK, number]

    def _unpack_handle(self, packed: WireValue) -> Any:
        """Return the check's own object that the student process passed back."""
        tag, number = check_length(packed, 2)
        if tag != CALLBACK:
            raise ProtocolError("a student's object in a use")
        return self.get_object(number)
