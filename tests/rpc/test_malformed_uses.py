"""Whatever a student process asks of a check's functions, the examiner answers or refuses."""

import contextlib
import random
import socket
import threading
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.examiner.callbacks import Callbacks as Here
from autograder.examiner.stopped_error import StoppedError
from autograder.rpc.frames import ConnectionClosed, ProtocolError, encode_message, receive, send
from autograder.student_process.callback_proxies import CallbackProxies as There
from labkit.recorded_calls import Seen
from tests.conftest import NIGHTLY
from tests.rpc.damage import MESSAGES, assert_memory_limit, assert_work_limit, damage

EXAMPLES = (100_000 if NIGHTLY else 2_000) // MESSAGES // 2


def _record_uses() -> tuple[Here, list[Any]]:
    """Record all requests of a process that uses a check's functions in every way."""
    recorder, uses = Here(), []
    examiner_end, student_end = socket.socketpair()

    def serve() -> None:
        while True:
            try:
                _, request = receive(examiner_end)
            except ConnectionClosed:
                return
            uses.append(request)
            send(examiner_end, recorder.serve(request))

    threading.Thread(target=serve, daemon=True).start()
    server = There(student_end, {})
    w = torch.ones(3, requires_grad=True)
    objects: list[Any] = [Seen(lambda x: x * w), iter([1, [2.0]]), lambda *a, **k: (a, k)]
    f, items, echo = (server.get_proxy(recorder.get_number(o)) for o in objects)
    x = torch.linspace(-1, 1, 3).requires_grad_()
    (g,) = torch.autograd.grad(f(x).pow(3).sum(), x, create_graph=True)
    g.sum().backward()
    f(x).sum().backward(retain_graph=True)
    next(items), iter(items), echo(1, "a", [x, {"b": 2.5}], c=f)
    student_end.close()
    examiner_end.close()
    return recorder, uses


HERE, REQUESTS = _record_uses()


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**40))
@pytest.mark.filterwarnings("ignore")
def test_damaged_uses_never_harm_the_examiner(seed: int) -> None:
    before = torch.get_rng_state()
    with assert_memory_limit():
        for n in range(MESSAGES):
            rng = random.Random(seed * MESSAGES + n)
            HERE._uses = 0
            with assert_work_limit(), contextlib.suppress(ProtocolError, StoppedError):
                encode_message(HERE.serve(damage(rng.choice(REQUESTS), rng)))
            assert torch.is_grad_enabled() and not HERE.is_serving
    torch.set_rng_state(before)
