"""Whatever one end sends, the other replies with a reason: no crash, no hang, no more memory than the bound."""

import random
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.examiner.remote_namespace import RemoteNamespace
from autograder.examiner.stopped_error import StoppedError
from autograder.rpc.frames import ProtocolError, decode_message, encode_message
from autograder.rpc.global_state import GlobalState
from autograder.student_process.call_server import CallServer
from tests.conftest import NIGHTLY
from tests.rpc.damage import MESSAGES, assert_memory_limit, assert_work_limit, damage

EXAMPLES = (100_000 if NIGHTLY else 5_000) // MESSAGES // 2
COURSE = {"square": lambda x: x * x}


class Stateful(torch.nn.Module):
    def forward(self, x):
        return x * 2


def make_student_names() -> dict[str, Any]:
    def f(x, *rest, **more):
        if isinstance(x, list):
            x.append(3)
        if isinstance(x, torch.Tensor) and x.is_leaf and not x.requires_grad:
            x.data.zero_()
        return [x, rest, more]

    return {**COURSE, "f": f, "double": lambda x: x * 2, "both": lambda x, w: (x * w, x + w), "Model": Stateful}


class DamagingConnection:
    """A connection to a student's end in this process. From the reply with number `spared` on, replies are damaged."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.spared = self.random.randrange(3)
        self.calls, self.ours = CallServer(make_student_names(), list(COURSE)), GlobalState()

    def ask(self, request: Any, callbacks: Any) -> Any:
        try:
            reply, _, _ = self.calls.reply(decode_message(encode_message([request, self.ours.read()])))
        except ProtocolError as error:  # a damaged number was returned: the process would end
            raise StoppedError(str(error)) from None
        if self.spared > 0:
            self.spared -= 1
            return decode_message(encode_message(reply))
        try:
            return damage(reply, self.random)
        except ProtocolError as error:
            raise StoppedError(str(error)) from None


def _forward(world: RemoteNamespace, rng: random.Random) -> None:
    f = world.get_proxy("f")
    x = torch.arange(6.0).reshape(2, 3)
    args = [
        [x.clone()],
        [x.T, x[1]],
        [[1, [2.5]]],
        [{"a": x}],
        [np.arange(4.0)],
        [torch.Generator()],
        [torch.relu],
        [1 + 2j],
    ]
    look_at(f(*rng.choice(args), more=rng.choice((None, x[0], [x]))))


def _backward(world: RemoteNamespace, rng: random.Random) -> None:
    x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    a, b = world.get_proxy("both")(x, w)
    (g,) = torch.autograd.grad((a * b).sum(), x, create_graph=True)
    g.sum().backward()
    look_at([a, b, g, x.grad, w.grad])


def _change_in_place(world: RemoteNamespace, rng: random.Random) -> None:
    h = torch.ones(3, requires_grad=True) * 2
    world.get_proxy("f")(h, torch.zeros(2))
    y = world.get_proxy("double")(h)
    y.sum().backward()
    look_at(y)


def _use_handles(world: RemoteNamespace, rng: random.Random) -> None:
    model = world.get_proxy("Model")()
    isinstance(model, torch.nn.Module)
    look_at([model(torch.ones(2)), model.training, len(list(model.parameters()))])


def look_at(value: Any) -> None:
    """Use everything in a result, as a check would: memory outside a block would show here."""
    if isinstance(value, torch.Tensor) and type(value) in (torch.Tensor, torch.nn.Parameter):
        assert value.numel() * value.element_size() <= 192 * 2**20
        if value.dtype in (torch.float32, torch.float64, torch.int64):
            value.detach().double().sum().item()
    elif isinstance(value, np.ndarray):
        assert value.size * value.itemsize <= 192 * 2**20
        value.tobytes()
    elif isinstance(value, list | tuple):
        for item in value[:50]:
            if item is not value:
                look_at(item) if not isinstance(item, list | tuple) else None


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**40))
@pytest.mark.filterwarnings("ignore")
def test_damaged_replies_never_harm_the_examiner(seed: int) -> None:
    before = torch.get_rng_state()
    with assert_memory_limit():
        for n in range(MESSAGES):
            rng = random.Random(seed * MESSAGES + n)
            world = RemoteNamespace(DamagingConnection(seed * MESSAGES + n), dict(COURSE))
            try:
                with assert_work_limit():
                    rng.choice((_forward, _backward, _change_in_place, _use_handles))(world, rng)
            except StoppedError:
                pass
            except (Exception, RecursionError) as error:  # a result of another kind, or an exception
                assert not isinstance(error, ProtocolError | MemoryError | AssertionError), error
            finally:
                torch.set_grad_enabled(True)
    torch.set_rng_state(before)


def _list_requests() -> list[Any]:
    """Valid requests of every kind, as the examiner sends them."""
    requests: list[Any] = []

    class Recording(DamagingConnection):
        def ask(self, request: Any, callbacks: Any) -> Any:
            requests.append(decode_message(encode_message([request, GlobalState().read()])))
            return super().ask(request, callbacks)

    for n, use in enumerate((_forward, _forward, _forward, _forward, _backward, _change_in_place, _use_handles)):
        line = Recording(0)
        line.spared = 1000
        use(RemoteNamespace(line, dict(COURSE)), random.Random(n))
    return requests


REQUESTS = _list_requests()


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**40))
@pytest.mark.filterwarnings("ignore")
def test_damaged_requests_are_answered_or_refused(seed: int) -> None:
    before = torch.get_rng_state()
    with assert_memory_limit():
        for n in range(MESSAGES):
            rng = random.Random(seed * MESSAGES + n)
            calls = CallServer(make_student_names(), list(COURSE))
            try:
                if rng.random() < 0.5:
                    calls.reply(REQUESTS[4])  # a node and a handle that the next can refer to
                request = damage(rng.choice(REQUESTS), rng)
                with assert_work_limit():
                    encode_message(calls.reply(request))
            except ProtocolError:
                pass
            finally:
                torch.set_grad_enabled(True)
                torch.set_default_dtype(torch.float32)
                torch.use_deterministic_algorithms(False)
    torch.set_rng_state(before)
