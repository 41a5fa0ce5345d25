"""Serves calls of the student's objects, and keeps the autograd graph of each call for backward."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from autograder.rpc import allowed_names, global_state
from autograder.rpc.exceptions import pack_exception
from autograder.rpc.fields import check_int, check_length, check_list, check_number, check_text
from autograder.rpc.flags import use_inference_mode
from autograder.rpc.frames import CALLBACK, ProtocolError, WireValue
from autograder.rpc.operations import OPERATIONS
from autograder.rpc.requests import Call, CallReply, GraphNode, VjpReply, VjpRequest, read_message
from autograder.rpc.tensors import is_differentiable
from autograder.rpc.value_exchange import ValueExchange, split_arguments
from autograder.rpc.vjp import BackwardOptions, Node, compute_vjp, find_gradient_edge
from autograder.student_process.callback_proxies import Callback, CallbackProxies
from autograder.student_process.changes import TensorSnapshot, take_snapshot
from autograder.student_process.graph_layers import group_layers
from autograder.student_process.shadows import Shadows
from autograder.student_process.silence import silence_output


class CallServer:
    """The objects, nodes and handles of one client.

    Args:
        namespace: The notebook's.
        given: Course names that mean the same object for the client; the names of functions that it passes are added.
        channel: The socket on which the client waits for the reply to a call.
    """

    def __init__(
        self, namespace: dict[str, Any], given: Iterable[str] = (), channel: socket.socket | None = None
    ) -> None:
        self.namespace, self.given = namespace, set(given)
        self.callbacks = CallbackProxies(channel, namespace)
        self.nodes: dict[int, Node] = {}
        self.handles: dict[int, Any] = {}
        self.origins: dict[int, list[Any]] = {}  # handle -> gradient edges of the inputs that it was made from
        self._numbers: dict[int, int] = {}  # of handles, by identity
        # The last number of a handle or node. Processes begin at different ones, so an old number is no new one.
        self._last_number = secrets.randbits(30) << 30
        self._ambient = global_state.GlobalState()
        self._touched: list[int] = []  # handles in this request
        self._new: list[int] = []  # handles created by it

    def reply(self, request: WireValue) -> WireValue:
        """Reply to [request, global state] with [reply, global state, dropped nodes]. Raises ProtocolError.

        A request is ["call", *Call, dropped] or ["vjp", *VjpRequest, dropped].
        """
        try:
            parts, state = check_length(request, 2)
            kind, *rest, dropped = check_list(parts)
            self._drop(dropped)
            with silence_output(), use_inference_mode(False):
                if kind == "call":
                    return [*self._call(state, read_message(Call, rest)), self.callbacks.end_call()]
                if kind == "vjp":
                    return [*self._compute_vjp(state, read_message(VjpRequest, rest)), self.callbacks.end_call()]
            raise ProtocolError("a request of an unknown kind")
        except ProtocolError:
            raise
        except Exception as error:  # the student's own exceptions are in the reply
            raise ProtocolError(f"malformed request: {type(error).__name__}: {str(error)[:200]}") from None

    def _call(self, state: WireValue, call: Call) -> tuple[CallReply, WireValue]:
        """Perform a call. Return the reply and the global state, from which the client continues."""
        shadows = Shadows()
        exchange = self._create_exchange(shadows)
        self._touched, self._new = [], []
        operate = OPERATIONS[check_text(call.operation)]
        if isinstance(call.target, int):
            self._unpack_handle(call.target)
        try:
            args, kwargs = split_arguments(exchange.unpack(call.arguments), call.keywords)
        except NameError as error:  # an argument is a student's function that was never defined
            self._ambient.apply(state)
            nothing = CallReply(pack_exception(error), exchange.pack(None), None, [], [], [], [])
            return nothing, self._ambient.read()
        blocks, count = len(exchange.blocks), len(exchange.objects)
        snapshots = [take_snapshot(value) for value in exchange.objects]
        edges = {n: find_gradient_edge(v) for n, v in enumerate(exchange.objects) if is_differentiable(v)}
        result, raised, state = self._operate(operate, call.target, args, kwargs, state)
        tensors = {n: snapshot for n, snapshot in enumerate(snapshots) if isinstance(snapshot, TensorSnapshot)}
        edges |= _find_new_edges({n: snapshot.value for n, snapshot in tensors.items() if n not in edges})
        dirty = [n for n, snapshot in tensors.items() if snapshot.has_been_recorded()]
        packed, raised = self._pack(exchange, result, raised)
        differences = [snapshot and snapshot.compute_difference(shadows) for snapshot in snapshots]
        packed_differences = exchange.pack(differences) if any(d is not None for d in differences) else None
        changed = exchange.read_changed_blocks(blocks)
        outputs = [n for n in range(count, len(exchange.objects)) if _has_history(exchange.objects[n])]
        nodes = self._record_graph(exchange, list(edges.values()), outputs, dirty)
        return CallReply(raised, packed, packed_differences, changed, list(edges), self._touched, nodes), state

    def _operate(
        self,
        operate: Callable[..., Any],
        target: WireValue,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        state: WireValue,
    ) -> tuple[Any, WireValue, WireValue]:
        """Run it in the client's global state. Return the result, the packed exception or None, and the new state."""
        with use_inference_mode(self._ambient.take(state).inference):
            self._ambient.apply(state)
            try:
                result, raised = operate(self._get_target(target), *args, **kwargs), None
            except BaseException as error:
                result, raised = None, pack_exception(error)
            if torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda"):
                torch.clear_autocast_cache()  # as leaving the caller's block would do
            return result, raised, self._ambient.read()

    def _record_graph(
        self, exchange: ValueExchange, edges: list[Any], outputs: list[int], dirty: list[int]
    ) -> list[GraphNode]:
        """Record the graph from the arguments' edges, and from what the used handles were made from, to the results."""
        inputs = [*edges, *[edge for handle in self._touched for edge in self.origins.get(handle, [])]]
        nodes = self._record(exchange, inputs, outputs, dirty) if outputs or dirty else []
        if inputs:
            self.origins.update({handle: inputs for handle in self._new})
        return nodes

    def _record(
        self, exchange: ValueExchange, inputs: list[Any], outputs: list[int], dirty: list[int]
    ) -> list[GraphNode]:
        """Keep the nodes of a call's graph, and return how to refer to them."""
        edges = {n: find_gradient_edge(exchange.objects[n]) for n in [*outputs, *dirty]}
        layers = group_layers(edges)
        nodes = []
        for members, between in layers:
            results = [n for n in members if n not in dirty], [n for n in members if n in dirty]
            node = Node(
                [*inputs, *[edges[n] for n in between]],
                [edges[n] for part in results for n in part],
                [exchange.objects[n] for n in between],
                shared=bool(self._touched) or len(layers) > 1,
            )
            nodes.append(GraphNode(self._store_node(node), *results, between))
        return nodes

    def _pack(self, exchange: ValueExchange, result: Any, raised: WireValue) -> tuple[WireValue, WireValue]:
        try:
            return exchange.pack(result), raised
        except Exception as error:  # a sparse tensor, an object array, too many bytes, an object that lies
            failure = TypeError(f"a check can't read this result: {error}")
            return exchange.pack(None), pack_exception(failure)

    def _compute_vjp(self, state: WireValue, request: VjpRequest) -> tuple[VjpReply, WireValue]:
        """Compute the gradients of an earlier call's inputs. Return the reply and the global state."""
        node = self.nodes[check_number(request.node)]
        needed = [check_number(n) for n in check_list(request.needed)]
        options = BackwardOptions(
            check_int(request.graph_task_id),
            request.retain_graph is True,
            request.create_graph is True,
            request.accumulate is True,
        )
        exchange = self._create_exchange(Shadows())
        grads = exchange.unpack(request.gradients)
        blocks = len(exchange.blocks)
        self._ambient.apply(state)
        try:
            results = compute_vjp(node, grads, needed, options)
        except Exception as error:
            return VjpReply(pack_exception(error), exchange.pack([]), [], None, []), self._ambient.read()
        packed = exchange.pack(results)
        history = [i for i, g in enumerate(results) if options.create_graph and g is not None and g.requires_grad]
        incoming = [find_gradient_edge(g) for g in grads if is_differentiable(g)]
        new = None
        if history:
            outputs = [find_gradient_edge(g) for i, g in enumerate(results) if g is not None and i in history]
            new = self._store_node(Node([*node.inputs, *incoming], outputs, node.between, shared=True))
        return VjpReply(None, packed, exchange.read_changed_blocks(blocks), new, history), self._ambient.read()

    def _get_target(self, target: WireValue) -> Any:
        if isinstance(target, int):
            return self.handles[target]
        name = check_text(target)
        if name.startswith(allowed_names.PROBE):
            probe = name.removeprefix(allowed_names.PROBE)
            return self._get_named(probe) if probe.startswith(allowed_names.GIVEN) else allowed_names.get_probe(probe)
        if name not in self.namespace:
            raise NameError(f"name {name!r} is not defined")
        return self.namespace[name]

    def _create_exchange(self, shadows: Shadows) -> ValueExchange:
        return ValueExchange(self._find_name, self._get_named, self._pack_opaque, self._unpack_handle, shadows.enter)

    def _unpack_handle(self, target: WireValue) -> Any:
        if isinstance(target, list):
            return self.callbacks.get_proxy(check_number(target[1]))
        value = self._get_target(target)
        if isinstance(target, int) and target not in self._touched:
            self._touched.append(target)
        return value

    def _find_name(self, value: Any) -> str | None:
        given = next((name for name in sorted(self.given) if self.namespace.get(name) is value), None)
        return allowed_names.find_pure_name(value) if given is None else allowed_names.GIVEN + given

    def _get_named(self, name: str) -> Any:
        if not name.startswith(allowed_names.GIVEN):
            return allowed_names.get_named(name)
        value = self._get_target(name := name.removeprefix(allowed_names.GIVEN))
        self.given.add(name)
        return value

    def _pack_opaque(self, value: Any) -> WireValue:
        if type(value) is Callback:
            return [CALLBACK, value._number]
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = self._last_number = self._last_number + 1
            self.handles[number] = value
            self._new.append(number)
        return [number, allowed_names.list_type_names(type(value))]

    def _store_node(self, node: Node) -> int:
        self._last_number += 1
        self.nodes[self._last_number] = node
        return self._last_number

    def _drop(self, dropped: WireValue) -> None:
        """Forget [nodes, handles] that the client can't use any more."""
        nodes, handles = check_length(dropped, 2)
        for number in map(check_number, check_list(nodes)):
            self.nodes.pop(number, None)
        for number in map(check_number, check_list(handles)):
            self._numbers.pop(id(self.handles.pop(number, None)), None)
            self.origins.pop(number, None)


def _find_new_edges(tensors: dict[int, Tensor]) -> dict[int, Any]:
    """Return the gradient edges of tensors for which the call ran requires_grad_()."""
    return {n: find_gradient_edge(t) for n, t in tensors.items() if t.is_leaf and is_differentiable(t)}


def _has_history(value: Any) -> bool:
    return is_differentiable(value) and not value.is_leaf
