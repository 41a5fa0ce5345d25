"""The reference is made wrong while its switch is on, whatever it returns, and stays right in all other calls."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from autograder.proving.edge_spoilers import EdgeSwitch, spoil_result

Function = Callable[[Any], Any]


def divide(x: int) -> float:
    return 1 / x


class Sum:
    def __init__(self, start: float) -> None:
        self.value = start

    def add(self, x: float) -> None:
        self.value += x

    def read(self) -> float:
        if self.value < 0:
            raise ValueError(self.value)
        return self.value


class Scale(nn.Module):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.register_buffer("factor", torch.tensor(factor))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor


class Double(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return 2 * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return 2 * gradient


def wrap_class(kind: Any) -> tuple[Any, EdgeSwitch]:
    switch = EdgeSwitch()
    return switch.wrap_class(kind), switch


@pytest.mark.parametrize(
    "result",
    [
        2.0,
        torch.tensor([2.0, -1.0, float("nan"), float("inf")]),
        torch.empty(0, 3),
        torch.tensor([True, False]),
        np.array([1, 2]),
        (),
        {},
        torch.device("cpu"),
        torch.float32,
        "name",
    ],
    ids=["2", "numbers", "no numbers", "booleans", "array", "tuple", "dict", "device", "dtype", "text"],
)
def test_any_result_is_spoiled(result: Any) -> None:
    spoiled = spoil_result(result, ())
    if isinstance(result, torch.Tensor):
        assert spoiled.shape != result.shape or not torch.isclose(spoiled, result).any()
    else:
        assert not np.array_equal(spoiled, result)


def test_an_argument_that_is_returned_is_changed_in_place() -> None:
    x = torch.tensor([2.0])
    assert spoil_result(x, (x,)) is x
    assert x.item() == 5


def test_without_a_result_what_the_arguments_hold_is_changed() -> None:
    model, flags = nn.Linear(2, 1), torch.tensor([True])
    before = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer = torch.optim.SGD([torch.zeros(2, requires_grad=True)])
    assert spoil_result(None, ([model], {"flags": flags}, optimizer)) is None
    assert all(torch.equal(p, old + 1) for p, old in zip(model.parameters(), before, strict=True))
    assert flags.tolist() == [False]
    assert optimizer.param_groups[0]["params"][0].tolist() == [1, 1]
    assert spoil_result(None, (1,)) is True


def test_a_model_is_returned_with_other_parameters() -> None:
    model = nn.Linear(1, 1)
    before = model.bias.item()
    assert spoil_result(model, ()) is model
    assert model.bias.item() == pytest.approx(before + 1)


def test_an_iterator_yields_other_items_or_one_too_many() -> None:
    assert list(spoil_result(iter([1, 2]), ())) == [2, 3]
    assert list(spoil_result(iter([]), ())) == [True]


def test_a_context_manager_does_nothing() -> None:
    with spoil_result(torch.no_grad(), ()):
        assert torch.is_grad_enabled()


def test_a_function_is_wrong_only_while_the_switch_is_on() -> None:
    switch = EdgeSwitch()
    function = switch.wrap(divide)
    assert function(2) == 0.5
    switch(True)
    assert function(2) != 0.5
    assert function(0) is None
    switch(False)
    with pytest.raises(ZeroDivisionError):
        function(0)


def test_a_method_is_wrong_only_while_the_switch_is_on() -> None:
    kind, switch = wrap_class(Sum)
    total = kind(1.0)
    switch(True)
    assert total.read() != 1.0
    total.add(2.0)
    assert total.value == 1.0, "a call that only changes the object is skipped"
    switch(False)
    total.add(2.0)
    assert total.read() == 3.0


def test_a_module_is_wrong_in_forward_and_keeps_its_buffers() -> None:
    kind, switch = wrap_class(Scale)
    module, x = kind(3.0), torch.ones(2)
    switch(True)
    assert not torch.isclose(module(x), 3 * x).any()
    switch(False)
    assert module(x).equal(3 * x)
    assert list(module.state_dict()) == ["factor"]


def test_an_autograd_function_is_wrong_in_apply() -> None:
    kind, switch = wrap_class(Double)
    x = torch.ones(2)
    switch(True)
    assert not torch.isclose(kind.apply(x), 2 * x).any()
    switch(False)
    assert kind.apply(x).equal(2 * x)


def test_a_switch_says_whether_it_had_an_effect() -> None:
    kind, switch = wrap_class(Sum)
    assert switch.has_effect, "it was never on: a check doesn't try the edge"
    switch(True)
    assert not switch.has_effect, "no method was called"
    kind(1.0).read()
    assert switch.has_effect
