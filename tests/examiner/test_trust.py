"""Replies of a student process, and how the examiner treats them."""

import os
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
import torch

from autograder.examiner.connection import Connection
from autograder.examiner.remote_namespace import RemoteNamespace
from autograder.examiner.stopped_error import StoppedError
from autograder.rpc.frames import decode_message, encode_message
from autograder.student_process.call_server import CallServer
from tests.examiner.program import start_student_process
from tests.examiner.world import open_world


class YesObject:
    """Equals everything."""

    def __getattr__(self, name):
        return lambda *_, **__: True

    def __eq__(self, other):
        return True

    def __len__(self):
        return 3

    __hash__ = None


def test_an_object_that_claims_to_equal_everything_equals_nothing() -> None:
    with open_world(f=YesObject) as world:
        got = world.get_proxy("f")()
        assert got != 3 and got != [1, 2, 3]
        with pytest.raises(TypeError):
            torch.equal(got, torch.ones(3))
        with pytest.raises(TypeError):
            torch.testing.assert_close(got, torch.ones(3))


@pytest.mark.parametrize(
    "name",
    ["torch.Tensor", "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer", "builtins.list", "builtins.int"],
)
def test_no_object_passes_for_a_value(name: str) -> None:
    module, _, last = name.rpartition(".")
    liar = type(last, (YesObject,), {"__module__": module, "__qualname__": last})
    with open_world(f=liar) as world:
        got = world.get_proxy("f")()
        assert not isinstance(got, torch.Tensor | list | int | np.ndarray)


def test_a_tensor_subclass_arrives_as_a_tensor() -> None:
    class Equal(torch.Tensor):
        def __eq__(self, other):
            return torch.tensor(True)

    with open_world(f=lambda: torch.zeros(2).as_subclass(Equal)) as world:
        got = world.get_proxy("f")()
        assert type(got) is torch.Tensor
        assert not (got == torch.ones(2)).any()


def test_a_process_that_ends_is_distinguished_from_one_that_hangs() -> None:
    with open_world(f=lambda: os._exit(3)) as world, pytest.raises(StoppedError, match="ended"):
        world.get_proxy("f")()
    with open_world(3, f=lambda: time.sleep(3600)) as world:  # a loaded machine needs time to run it at all
        f = world.get_proxy("f")
        with pytest.raises(StoppedError, match="time limit"):
            f()
        world.connection.channel.close()  # nothing more is asked: the late answer would be taken for the next one
        with pytest.raises(StoppedError, match="time limit"):
            f()


def test_exit_and_interrupt_are_exceptions_of_the_students() -> None:
    def interrupt():
        raise KeyboardInterrupt

    with open_world(leave=sys.exit, interrupt=interrupt, f=lambda: 1) as world:
        for name in ("leave", "interrupt"):
            with pytest.raises(RuntimeError) as caught:
                world.get_proxy(name)()
            assert caught.value.from_student
        assert world.get_proxy("f")() == 1


def test_a_result_that_cannot_be_inspected_is_the_students_error() -> None:
    results = [
        torch.eye(2).to_sparse(),
        np.array([object()]),
        torch.empty(1, device="meta"),
        torch.zeros(1).expand(2**30),
        [[torch.eye(2).to_sparse()]],
    ]
    with open_world(f=lambda n: results[n]) as world:
        for n in range(len(results)):
            with pytest.raises(TypeError, match="a check can't read this result"):
                world.get_proxy("f")(n)


def test_an_unknown_name_is_a_name_error() -> None:
    with open_world(f=lambda g: g) as world:
        with pytest.raises(NameError):
            world.get_proxy("missing")()
        with pytest.raises(NameError):
            world.get_proxy("f")(world.get_proxy("missing"))
        assert world.get_proxy("f")(1) == 1


def test_a_check_that_passes_a_module_gets_an_error() -> None:
    with open_world(f=lambda g: g) as world, pytest.raises(TypeError, match="a check passes"):
        world.get_proxy("f")(torch.nn.Identity())


def test_printed_text_goes_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    def loud():
        for _ in range(1000):
            print("x" * 100_000)
        sys.stderr.write("secret")
        return 1

    with open_world(f=loud) as world:
        assert world.get_proxy("f")() == 1
    assert capfd.readouterr() == ("", "")


def test_unreferenced_objects_are_forgotten() -> None:
    calls = CallServer({"f": lambda x: x * 2, "make": lambda x: lambda: x})

    class Direct:
        def __init__(self) -> None:
            self.connection = Connection.__new__(Connection)

        def ask(self, request: Any, callbacks: Any) -> Any:
            from autograder.rpc.global_state import GlobalState

            calls._ambient = GlobalState()
            return decode_message(encode_message(calls.reply([request, GlobalState().read()])))[0]

    world = RemoteNamespace(Direct(), {})
    f, make, x = world.get_proxy("f"), world.get_proxy("make"), torch.ones(2, requires_grad=True)
    for _ in range(50):
        f(x).sum().backward()
        (g,) = torch.autograd.grad((f(x) ** 2).sum(), x, create_graph=True)
        g.sum().backward()
        make(3)()
    del g
    x.grad = None
    f(x)
    f(1)
    assert len(calls.nodes) <= 1
    assert len(calls.handles) == 0
    assert len(calls.origins) == 0


def test_a_random_state_is_sent_only_when_it_is_new() -> None:
    from autograder.rpc.global_state import GlobalState

    state = GlobalState()
    first, second = len(encode_message(state.read())), len(encode_message(state.read()))
    assert first > 5000 and second < 200
    torch.rand(1)
    assert 5000 < len(encode_message(state.read())) < 6000


def test_a_handle_of_one_process_means_nothing_in_another() -> None:
    with open_world(make=YesObject) as world:
        stale = world.get_proxy("make")()
        with start_student_process({"make": YesObject}, []) as channel:
            world.connection = Connection(channel)
            world.get_proxy("make")()
            with pytest.raises(StoppedError):
                stale.anything()


def test_a_call_imports_nothing() -> None:
    """Each fork would repeat any import beyond the fork server's: it once took two seconds."""
    code = """
import importlib, sys, torch
from autograder.student_process.imports import ALWAYS, FIRST_USED
from autograder.examiner.remote_namespace import RemoteNamespace
from autograder.student_process.call_server import CallServer
from autograder.rpc.frames import decode_message, encode_message
from autograder.rpc.global_state import GlobalState

class Line:
    calls, ours = CallServer({"f": lambda x: x.exp() * 2, "g": lambda: (_ for _ in [1])}), GlobalState()
    def ask(self, request, callbacks):
        return decode_message(encode_message(self.calls.reply([request, self.ours.read()])))[0]

for names in (ALWAYS, *FIRST_USED.values()):
    for name in names:
        importlib.import_module(name)
before = set(sys.modules)
world, x = RemoteNamespace(Line(), {}), torch.ones(2, requires_grad=True)
f = world.get_proxy("f")
(g,) = torch.autograd.grad(f(x), x, torch.ones(2), create_graph=True)
g.sum().backward()
list(world.get_proxy("g")())
print(sorted(set(sys.modules) - before))
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert process.stdout.strip() == "[]", process.stdout + process.stderr
