"""A check tries a student's function on drawn inputs, across the connection to the student process."""

from typing import Any

import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor

from autograder.examiner.remote_namespace import RemoteNamespace
from labkit.comparison import Mismatch
from labkit.domain import Domain, domain
from labkit.draw import Draw
from labkit.reference import define_reference
from tests.examiner.world import open_world

EDGES = ("float64", "no numbers", "a list of one")
SOURCE = """
def add_all(x, others, f):
    for other in others:
        x = x + f(other)
    return x
"""


def draw_arguments(draw: Draw, edge: str) -> tuple[Any, ...]:
    size = 0 if edge == "no numbers" else draw(st.integers(1, 4))
    g = draw.make_generator()
    dtype = torch.float64 if edge == "float64" else torch.float32
    x, *others = torch.randn(1 if edge == "a list of one" else 3, size, generator=g, dtype=dtype)
    return x.requires_grad_(), others, lambda t: 3 * t


def make_domain() -> Domain:
    return domain(define_reference("add_all", SOURCE, {}), *EDGES)(draw_arguments)


def record_calls(world: RemoteNamespace, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets the target of each call."""
    targets: list[str] = []
    ask = world.connection.ask

    def note(request: Any, *rest: Any) -> Any:
        _, target, operation, *_ = request
        targets.extend([target] if operation == "call" else [])
        return ask(request, *rest)

    monkeypatch.setattr(world.connection, "ask", note)
    return targets


def add_all(x: Tensor, others: list[Tensor], f: Any) -> Tensor:
    return sum(map(f, others), start=x)


def test_all_calls_of_a_check_share_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_world(add_all=add_all) as world:
        targets = record_calls(world, monkeypatch)
        drawn, function = make_domain(), world.get_proxy("add_all")
        drawn.assert_results(function, "", *EDGES)
        drawn.assert_arguments(function)
        drawn.assert_gradients(function)
        drawn.assert_memory(function)
        drawn.assert_settings(function)
        assert targets == ["probe call_each"]


def use_one_buffer(x: Tensor, others: list[Tensor], f: Any, buffers: dict[Any, Any] = {}) -> Tensor:  # noqa: B006
    buffer = buffers.setdefault((x.shape, x.dtype), torch.empty_like(x))
    with torch.no_grad():
        return torch.as_tensor(buffer.copy_(add_all(x, others, f)))


def clear_the_list(x: Tensor, others: list[Tensor], f: Any) -> Tensor:
    result = add_all(x, others, f)
    others.clear()
    return result


def leave_recording_off(x: Tensor, others: list[Tensor], f: Any) -> Tensor:
    result = add_all(x, others, f)
    torch.set_grad_enabled(False)
    return result


@pytest.mark.parametrize(
    ("wrong", "failed"),
    [
        (use_one_buffer, ["results", "gradients", "memory"]),
        (clear_the_list, ["arguments"]),
        (leave_recording_off, ["settings"]),
        (lambda x, others, f: add_all(x.detach(), others, f), ["gradients"]),
    ],
    ids=["one buffer", "a list cleared", "recording left off", "detached"],
)
def test_the_harm_that_a_wrong_answer_does_is_seen_from_the_grader(wrong: Any, failed: list[str]) -> None:
    drawn, found = make_domain(), []
    with open_world(wrong=wrong) as world:
        for name in ("results", "arguments", "gradients", "memory", "settings"):
            try:
                getattr(drawn, f"assert_{name}")(world.get_proxy("wrong"), "", *EDGES)
            except Mismatch:
                found.append(name)
    assert found == failed


def test_an_exception_of_one_call_is_raised_as_itself() -> None:
    def refuse_nothing(x: Tensor, others: list[Tensor], f: Any) -> Tensor:
        if not others:
            raise IndexError("no tensors")
        return add_all(x, others, f)

    with open_world(function=refuse_nothing) as world:
        function = world.get_proxy("function")
        make_domain().assert_results(function)
        with pytest.raises(IndexError):
            make_domain().assert_results(function, "a list of one")


def test_a_reply_without_reports_fails_the_check() -> None:
    with open_world(lie=lambda *_: None) as world, pytest.MonkeyPatch.context() as patch:
        patch.setattr(world, "probe", lambda *_: [[1, 2], None])
        with pytest.raises(Mismatch, match="did not arrive"):
            make_domain().assert_results(world.get_proxy("lie"))
