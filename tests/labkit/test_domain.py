"""A function is tried on inputs drawn from its domain, edge by edge, and compared with the reference."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor

from labkit import domain as module
from labkit.comparison import Mismatch
from labkit.domain import Domain, domain
from labkit.draw import Draw
from labkit.reference import define_reference

Function = Callable[..., Any]
EDGES = ("no rows", "transposed", "every second column")
HALVE = """
def halve_(x, times):
    if times == 0:
        return x
    x /= 2
    return halve_(x, times - 1)
"""
INVERT = """
def invert(number):
    if number == 0:
        raise ZeroDivisionError()
    return 1 / number
"""


def draw_halves(draw: Draw, edge: str) -> tuple[Tensor, int]:
    rows = 0 if edge == "no rows" else draw(st.integers(1, 5))
    x = torch.randn(rows, 2, generator=draw.make_generator())
    if edge == "transposed":
        x = x.T.contiguous().T
    if edge == "every second column":
        x = torch.stack([x, -x], dim=2).flatten(1)[:, ::2]
    return x, draw(st.integers(1, 3))


def make_halves(seed: int = 1) -> Domain:
    return domain(define_reference("halve_", HALVE, globals(), seed), *EDGES)(draw_halves)


def halve_(x: Tensor, times: int) -> Tensor:
    return x.mul_(0.5**times)


def try_out(function: Function) -> list[str]:
    """The edges for which the function's results or arguments differ; "" for inputs without an edge."""
    halves, failed = make_halves(), []
    for edge in ("", *EDGES):
        try:
            halves.assert_results(function, edge)
            halves.assert_arguments(function, edge)
            halves.assert_returns(function, "x", edge)
        except Mismatch:
            failed.append(edge)
    return failed


def remember(function: Function) -> Function:
    results: dict[Any, Any] = {}

    def call(x: Tensor, times: int) -> Any:
        key = tuple(x.shape), times
        return results.setdefault(key, function(x, times))

    return call


def halve_around(x: Tensor, times: int) -> Tensor:
    whole = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage())
    whole *= 0.5**times
    return x


def test_a_right_answer_in_another_form_passes_and_is_called_a_few_times_for_each_edge() -> None:
    calls = []

    def count(x: Tensor, times: int) -> Tensor:
        calls.append(times)
        return halve_(x, times)

    assert try_out(count) == []
    assert len(calls) == module.PLAIN_CASES + 2 + len(EDGES) * module.EDGE_CASES


@pytest.mark.parametrize(
    ("wrong", "failed"),
    [
        (lambda x, times: x / 2**times, ["", *EDGES]),
        (lambda x, times: halve_(x.contiguous(), times), ["transposed", "every second column"]),
        (lambda x, times: halve_(x, times) if len(x) else None, ["no rows"]),
        (lambda x, times: halve_(x, times).view_as(x), ["", *EDGES]),
        (halve_around, ["every second column"]),
    ],
    ids=["a new tensor", "a contiguous copy", "None for no rows", "a view of it", "the memory around it too"],
)
def test_a_wrong_answer_fails_with_the_edges_that_it_forgets(wrong: Function, failed: list[str]) -> None:
    assert try_out(wrong) == failed


def test_a_function_that_remembers_results_differs() -> None:
    with pytest.raises(Mismatch):
        make_halves().assert_results(remember(lambda x, times: x / 2**times))
    make_halves().assert_results(lambda x, times: x / 2**times)


def test_an_exception_of_the_reference_is_expected_and_no_other() -> None:
    reference = define_reference("invert", INVERT, {})
    numbers = domain(reference, "zero")(lambda draw, edge: (0 if edge else draw(st.integers(1, 9)),))
    numbers.assert_results(lambda number: 1 / number, "", "zero")
    with pytest.raises(Mismatch, match="your function returned"):
        numbers.assert_results(lambda number: 0.0 if number == 0 else 1 / number, "zero")
    with pytest.raises(OverflowError):
        numbers.assert_results(lambda number: 10.0 ** (1000 * (number == 0)), "zero")


def test_the_reference_calls_itself_and_not_the_answer_of_its_name() -> None:
    namespace = {"halve_": lambda *_: pytest.fail("the answer was called")}
    assert define_reference("halve_", HALVE, namespace).function(torch.tensor([4.0]), 2).tolist() == [1.0]


def test_inputs_are_drawn_once_in_a_process_for_each_seed() -> None:
    first = make_halves().list_cases()
    assert make_halves().list_cases() is first
    again = make_halves(seed=2).list_cases()
    assert [case.drawn.choices for case in again] != [case.drawn.choices for case in first]
