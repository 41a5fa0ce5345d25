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
from labkit.reference import Reference, define_reference

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
    assert len(calls) == module.CASES_WITHOUT_EDGE + 2 + len(EDGES) * module.EDGE_CASES


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


def make_domain(source: str, draw_arguments: Any, *edges: str, **options: Any) -> Domain:
    name = source.split("def ")[1].split("(")[0]
    return domain(define_reference(name, source, globals()), *edges, **options)(draw_arguments)


def draw_pair(draw: Draw, edge: str) -> tuple[Tensor, Tensor]:
    g = draw.make_generator()
    x, w = torch.randn(3, generator=g), torch.randn(3, generator=g)
    return x, w.requires_grad_()


BLEND = """
def blend(x, w):
    return (x * w).sum()
"""


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x, w: (x * w).sum().detach(), "your result has no gradient"),
        (lambda x, w: (x * w).sum().detach().requires_grad_(), "your result is a leaf"),
        (lambda x, w: (x * w.detach()).sum() + 0 * w.sum(), "the gradients"),
    ],
    ids=["detached", "a leaf", "another gradient"],
)
def test_a_gradient_goes_back_as_through_the_references_result(wrong: Function, message: str) -> None:
    blends = make_domain(BLEND, draw_pair)
    blends.assert_gradients(lambda x, w: torch.dot(x, w))
    with pytest.raises(Mismatch, match=message):
        blends.assert_gradients(wrong)


HALVES = """
def split_in_two(x):
    return x[:1].clone(), x[1:]
"""


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x: (x[:1], x[1:]), "shares memory with an argument"),
        (lambda x: (x[:1].clone(), x[1:].clone()), "memory of its own"),
        (lambda x: x.clone().split([1, len(x) - 1]), "two tensors of your result"),
    ],
    ids=["a view", "a copy", "two views of a copy"],
)
def test_the_result_is_in_the_memory_that_the_references_is_in(wrong: Function, message: str) -> None:
    halves = make_domain(HALVES, lambda draw, edge: (torch.randn(4, generator=draw.make_generator()),))
    halves.assert_memory(lambda x: (x.clone()[:1], x.view(-1)[1:]))
    with pytest.raises(Mismatch, match=message):
        halves.assert_memory(wrong)


def test_a_result_in_the_memory_of_an_earlier_one_differs() -> None:
    copies = make_domain(
        "def double(x):\n    return x + x\n", lambda draw, edge: (torch.randn(4, generator=draw.make_generator()),)
    )
    buffer = torch.empty(4)
    for check in (copies.assert_memory, copies.assert_results):
        with pytest.raises(Mismatch):
            check(lambda x: torch.add(x, x, out=buffer))


def test_a_list_that_an_earlier_call_returned_differs() -> None:
    signs = make_domain(
        "def find_signs(number):\n    return [number > 0]\n", lambda draw, edge: (draw(st.integers(1)),)
    )
    signs.assert_memory(lambda number: [number > 0])
    with pytest.raises(Mismatch, match="an earlier call returned"):
        signs.assert_memory(lambda number, found=[True]: found)


def test_an_inference_tensor_is_a_result_without_a_gradient() -> None:
    doubles = make_domain("def double(x, times):\n    return (x + x).detach()\n", draw_halves)

    @torch.inference_mode()
    def double(x: Tensor, times: int) -> Tensor:
        return x + x

    doubles.assert_gradients(double)


def test_an_edge_that_the_domain_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="no edge 'no row', only 'no rows', 'transposed'"):
        make_halves().assert_results(halve_, "no row")
    with pytest.raises(ValueError, match="no edge 'recording off'"):
        domain(make_halves().reference, "no rows", contexts={"recording off": torch.no_grad})(draw_halves)


def test_an_argument_that_keeps_its_gradient_afterward_is_noticed() -> None:
    def draw_arguments(draw: Draw, edge: str) -> tuple[Tensor]:
        return (torch.randn(2, generator=draw.make_generator()).requires_grad_() * 2,)

    def double(x: Tensor) -> Tensor:
        x.retain_grad()
        return 2 * x

    doubles = domain(define_reference("double", "def double(x): return 2 * x", {}))(draw_arguments)
    doubles.assert_results(double)
    with pytest.raises(Mismatch, match="retains_grad of x is True"):
        doubles.assert_arguments(double)
    doubles.assert_arguments(double, ignore=("x.grad",))


def test_an_argument_that_a_promise_leaves_open_is_ignored() -> None:
    blends = make_domain(BLEND, draw_pair)

    def leave_a_gradient(x: Tensor, w: Tensor) -> Tensor:
        (x * w).sum().backward()
        return (x * w).sum()

    blends.assert_arguments(leave_a_gradient, ignore=("w.grad",))
    with pytest.raises(Mismatch, match=r"\.grad of w"):
        blends.assert_arguments(leave_a_gradient)


def test_a_list_must_hold_the_same_tensors_as_before() -> None:
    sums = make_domain(
        "def total(tensors):\n    return sum(tensors)\n",
        lambda draw, edge: ([torch.randn(2, generator=draw.make_generator()) for _ in range(2)],),
    )

    def replace(tensors: list[Tensor]) -> Tensor:
        tensors[0] = tensors[0].clone()
        return tensors[0] + tensors[1]

    sums.assert_arguments(lambda tensors: torch.stack(tensors).sum(0))
    with pytest.raises(Mismatch, match="other tensors than before"):
        sums.assert_arguments(replace)


def test_settings_are_put_back() -> None:
    blends = make_domain(BLEND, draw_pair)

    def switch_off(x: Tensor, w: Tensor) -> Tensor:
        torch.set_grad_enabled(False)
        return (x * w).sum()

    blends.assert_settings(lambda x, w: (x * w).sum())
    with pytest.raises(Mismatch, match="settings"):
        blends.assert_settings(switch_off)
    assert torch.is_grad_enabled()


def test_calls_with_an_edge_are_made_in_its_context() -> None:
    blends = make_domain(BLEND, draw_pair, "recording off", contexts={"recording off": torch.no_grad})
    seen = []

    def note(x: Tensor, w: Tensor) -> Tensor:
        seen.append(torch.is_grad_enabled())
        return (x * w).sum()

    blends.assert_gradients(note)
    assert seen == [True] * (module.CASES_WITHOUT_EDGE + 2) + [False] * module.EDGE_CASES


class Scale:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def apply(self, x: Tensor) -> Tensor:
        return self.factor * x


def scale_twice(kind: type[Scale], factor: float, x: Tensor) -> list[Tensor]:
    scale = kind(factor)
    return [scale.apply(x), scale.apply(x)]


def test_a_class_is_called_by_a_function_that_uses_it() -> None:
    reference = Reference("Scale", "", Scale)
    scales = domain(reference, call=scale_twice)(
        lambda draw, edge: (draw(st.sampled_from([2.0, 3.0])), torch.randn(2, generator=draw.make_generator()))
    )

    class Counting(Scale):
        def apply(self, x: Tensor) -> Tensor:
            self.factor += 1
            return super().apply(x)

    assert scales.parameters == ["factor", "x"]
    scales.assert_results(Scale)
    with pytest.raises(Mismatch):
        scales.assert_results(Counting)


def test_any_exception_of_those_allowed_is_right() -> None:
    numbers = make_domain(INVERT, lambda draw, edge: (0,), errors=(ValueError, ZeroDivisionError))

    def refuse(number: int) -> float:
        raise ValueError

    numbers.assert_results(refuse)
    with pytest.raises(TypeError):
        numbers.assert_results(lambda number: None + number)


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
