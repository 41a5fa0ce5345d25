"""What a student's function can and cannot do with a check's own functions."""

import functools
import os
import threading
import time
from typing import Any

import pytest
import torch

from autograder.examiner import callbacks, node_store
from autograder.examiner.stopped_error import StoppedError
from labkit.probes import ProbeError
from labkit.recorded_calls import Seen
from tests.examiner.world import open_world


class CourseClass:
    """As a class that a check cell defines."""

    __module__ = "__main__"
    offers = ("shown",)

    def __init__(self) -> None:
        self._want, self.shown, self.unrecorded = 7, 3, len

    def method(self) -> int:
        return self._want


@pytest.mark.parametrize(
    "name", ["_want", "__class__", "__dict__", "__init__", "method.__globals__", "nothing", "unrecorded"]
)
def test_objects_that_a_check_does_not_pass_are_out_of_reach(name: str) -> None:
    with (
        open_world(f=lambda o: o._callbacks.use(o._number, "getattr", (name,), {})) as world,
        pytest.raises(AttributeError),
    ):
        world.get_proxy("f")(CourseClass())


def test_attributes_of_an_objects_class_can_be_read() -> None:
    with open_world(f=lambda o: (o.shown, o.method())) as world:
        assert world.get_proxy("f")(CourseClass()) == (3, 7)


class Recorder:
    """As a class that a check cell defines, whose call has a record bound by a default."""

    __module__ = "__main__"

    def __call__(self, x: int, seen: list[int] = []) -> int:  # noqa: B006
        seen.append(x)
        return x

    def method(self, x: int, *, seen: list[int] = []) -> int:  # noqa: B006
        return self(x, seen)


def make_recorders(seen: list[int]) -> list[Any]:
    """Callables that write into `seen`, in all the ways in which Python binds it."""

    def plain(x: int, seen: list[int] = seen) -> int:
        seen.append(x)
        return x

    def by_keyword(x: int, *, seen: list[int] = seen, number: int = 3) -> int:
        return plain(x, seen)

    def any_keyword(x: int, *rest: Any, seen: list[int] = seen, **more: Any) -> int:
        return plain(x, seen)

    return [
        plain,
        by_keyword,
        any_keyword,
        functools.partial(plain, seen=seen),
        functools.partial(any_keyword, seen=seen),
        Seen(plain),
        Seen(functools.partial(Seen(plain), seen=seen)),
        Recorder(),
        Recorder().method,
        lambda x, seen=seen: plain(x, seen),
    ]


@pytest.mark.parametrize("way", range(len(make_recorders([]))))
def test_no_call_replaces_a_record_that_a_check_has_bound(way: int) -> None:
    record: list[int] = []
    with open_world(f=lambda g: g(5), liar=lambda g: g(5, seen=[]), other=lambda g: g(5, [])) as world:
        assert world.get_proxy("f")(make_recorders(record)[way]) == 5
        before = len(record)
        for liar in ("liar", "other"):
            try:
                world.get_proxy(liar)(make_recorders(record)[way])
            except TypeError:
                continue
            assert len(record) > before, "a call is recorded"
            before = len(record)


def test_a_parameter_with_none_as_its_default_can_be_given() -> None:
    def step(x: int, closure: Any = None) -> tuple[int, Any]:
        return x, closure

    with open_world(f=lambda g: (g(1), g(1, 2), g(1, closure=3))) as world:
        assert world.get_proxy("f")(step) == ((1, None), (1, 2), (1, 3))


def test_callbacks_of_an_earlier_check_cannot_be_used_in_a_later_one() -> None:
    """Otherwise an object without a record could do the work while one with a record is only for show."""
    callbacks: list[Any] = []

    def work(g: Any) -> int:
        callbacks.append(g)
        return int(callbacks[0](2))

    with open_world(f=work) as world:
        world.connection.checks = 1
        assert world.get_proxy("f")(lambda x: x + 1) == 3
        world.connection.checks = 2
        with pytest.raises(RuntimeError, match="an earlier check"):
            world.get_proxy("f")(lambda x: x + 2)


@pytest.mark.parametrize("name", ["f", "calls", "_f", "__globals__", "__closure__", "func"])
def test_functions_have_no_attributes(name: str) -> None:
    with open_world(f=lambda g: g._callbacks.use(g._number, "getattr", (name,), {})) as world:
        for function in (Seen(len), lambda: None, CourseClass().method):
            with pytest.raises(AttributeError):
                world.get_proxy("f")(function)


@pytest.mark.parametrize("number", [1, -1, 10**9, "0", None])
def test_only_callbacks_that_were_passed_can_be_used(number: object) -> None:
    with (
        open_world(f=lambda g: g._callbacks.use(number, "call", (), {})) as world,
        pytest.raises(StoppedError, match="a reply that can't be read"),
    ):
        world.get_proxy("f")(lambda: 1)


@pytest.mark.parametrize("operation", ["setattr", "delattr", "bases", "__call__", "isinstance"])
def test_the_operations_are_a_closed_set(operation: str) -> None:
    with (
        open_world(f=lambda o: o._callbacks.use(o._number, operation, ("shown", 1), {})) as world,
        pytest.raises(StoppedError, match="a reply that can't be read"),
    ):
        world.get_proxy("f")(CourseClass())


def test_objects_of_the_students_do_not_pass() -> None:
    with open_world(f=lambda g: g(lambda: 1)) as world, pytest.raises(TypeError, match="can't be passed"):
        world.get_proxy("f")(lambda x: x)


def test_a_use_cannot_return_to_the_student() -> None:
    with open_world(f=lambda g: g(), h=lambda: 1) as world, pytest.raises(ProbeError):
        world.get_proxy("f")(lambda: world.get_proxy("h")())


def test_the_number_of_uses_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callbacks, "MAX_USES", 20)
    with (
        open_world(f=lambda g: [g() for _ in range(30)]) as world,
        pytest.raises(StoppedError, match="more than 20 times"),
    ):
        world.get_proxy("f")(lambda: 1)


def test_the_histories_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_store, "MAX_NODES", 20)
    with open_world(
        f=lambda g, x: [g(x) for _ in range(30)], one=lambda g, x: [g(x) and None for _ in range(30)]
    ) as world:
        x = torch.ones((), requires_grad=True)
        world.get_proxy("one")(lambda t: t * 2, x)
        with pytest.raises(StoppedError, match="kept for backward"):
            world.get_proxy("f")(lambda t: t * 2, x)


def test_the_bytes_of_the_histories_count_expanded_memory_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_store, "MAX_KEPT", 2**20)

    def expands(g, times):
        return [g(torch.ones(1).expand(2**14).requires_grad_()).sum() for _ in range(times)]

    with open_world(f=expands) as world:
        world.get_proxy("f")(lambda t: t * t, 4)
        with pytest.raises(StoppedError, match="kept for backward"):
            world.get_proxy("f")(lambda t: t * t, 40)


def test_the_time_of_a_check_counts_its_uses() -> None:
    def use_for_ever(g):
        while True:
            g()

    with open_world(seconds=1.0, f=use_for_ever) as world, pytest.raises(StoppedError, match="time limit"):
        world.get_proxy("f")(lambda: time.sleep(0.02))


def test_the_state_of_the_check_is_unchanged() -> None:
    def careless(g, x):
        torch.set_grad_enabled(False)
        torch.set_autocast_enabled("cpu", True)
        torch.manual_seed(5)
        g(x)
        torch.set_autocast_enabled("cpu", False)
        torch.set_grad_enabled(True)

    with open_world(f=careless) as world:
        recorder = Seen(lambda x: x @ x)
        world.get_proxy("f")(recorder, torch.ones(2, 2))
        assert [(c.grad, c.autocast) for c in recorder.calls] == [(False, True)]
        assert torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")


def _run_in_threads(g, xs):
    results = [None] * len(xs)

    def work(n):
        results[n] = g(xs[n])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(xs))]
    [t.start() for t in threads]
    [t.join() for t in threads]
    return results


def test_threads_take_turns() -> None:
    with open_world(f=_run_in_threads) as world:
        assert world.get_proxy("f")(lambda x: x * 2, list(range(20))) == [2 * n for n in range(20)]


def _run_in_forks(g, xs):
    pipes = []
    for x in xs:
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.write(writing, str(g(x)).encode())
            os._exit(0)
        os.close(writing)
        pipes.append(reading)
    [os.wait() for _ in xs]
    return [int(os.read(end, 20)) for end in pipes]


def test_forks_take_turns() -> None:
    with open_world(f=_run_in_forks) as world:
        calls = []
        assert world.get_proxy("f")(lambda x: calls.append(x) or x * 2, list(range(6))) == [0, 2, 4, 6, 8, 10]
        assert sorted(calls) == [0, 1, 2, 3, 4, 5]


def _run_in_fork_too(g):
    torch.manual_seed(1)
    first = g()
    reading, writing = os.pipe()
    if os.fork() == 0:
        torch.manual_seed(5)
        os.write(writing, repr(g()).encode())
        os._exit(0)
    os.wait()
    return [first, float(os.read(reading, 40)), g()]


def test_each_process_draws_from_its_own_random_numbers() -> None:
    with open_world(f=_run_in_fork_too) as world:
        got = world.get_proxy("f")(lambda: torch.rand(()).item())
    student_generator, check_generator = torch.Generator().manual_seed(5), torch.Generator().manual_seed(1)
    assert got == [torch.rand((), generator=g).item() for g in (check_generator, student_generator, check_generator)]


@pytest.mark.parametrize(("draws", "most"), [(False, 8_000), (True, 120_000)])
def test_the_random_state_is_sent_when_it_is_new(draws: bool, most: int) -> None:
    with open_world(f=lambda g: [(draws and torch.rand(1), g()) for _ in range(20)] and None) as world:
        before = world.connection.bytes_left
        world.get_proxy("f")(lambda: 1)
        assert most / 3 < before - world.connection.bytes_left < most


def test_unused_records_are_forgotten() -> None:
    with open_world(f=lambda g, x: [g(x).detach() for _ in range(5)]) as world:
        recorder = Seen(lambda x: x * 2)
        world.get_proxy("f")(recorder, torch.ones(2, requires_grad=True))
        assert len(recorder.calls) == 5
        assert recorder.kept == 0
        assert not world.callbacks._nodes
