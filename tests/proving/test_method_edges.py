"""A class is made wrong in the calls of one edge, and stays right in the same calls after another past."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from autograder.proving.method_edges import MethodRecorder, SpoiledMethods, make_handled_class


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


def make_wrong(kind: Any, use: Any) -> tuple[Any, SpoiledMethods]:
    """Return the class, wrong in the calls that use() makes."""
    recorder = MethodRecorder()
    use(make_handled_class(kind, recorder))
    methods = SpoiledMethods(frozenset(recorder.digests))
    return make_handled_class(kind, methods), methods


def test_a_result_is_wrong_after_the_same_calls_and_right_after_others() -> None:
    wrong, methods = make_wrong(Sum, lambda kind: kind(1.0).read())
    assert wrong(1.0).read() != 1.0
    assert methods.has_effect
    other = wrong(0.0)
    other.add(1.0)
    assert other.read() == 1.0


def test_a_call_that_only_changes_the_object_is_skipped() -> None:
    wrong, _ = make_wrong(Sum, lambda kind: kind(1.0).add(2.0))
    total = wrong(1.0)
    total.add(2.0)
    assert total.value == 1.0


def test_an_exception_of_the_reference_is_not_raised() -> None:
    def use(kind: Any) -> None:
        with pytest.raises(ValueError):
            kind(-1.0).read()

    wrong, _ = make_wrong(Sum, use)
    assert wrong(-1.0).read() is None
    with pytest.raises(ValueError):
        wrong(-2.0).read()


def test_a_module_is_wrong_in_forward_and_keeps_its_buffers() -> None:
    x = torch.ones(2)
    wrong, _ = make_wrong(Scale, lambda kind: kind(3.0)(x))
    module = wrong(3.0)
    assert not torch.isclose(module(x), 3 * x).any()
    assert module(2 * x).equal(6 * x)
    assert list(module.state_dict()) == ["factor"]


def test_an_autograd_function_is_wrong_in_apply() -> None:
    x = torch.ones(2)
    wrong, _ = make_wrong(Double, lambda kind: kind.apply(x))
    assert not torch.isclose(wrong.apply(x), 2 * x).any()
    assert wrong.apply(2 * x).equal(4 * x)


def test_a_class_that_is_never_used_so_stays_right() -> None:
    wrong, methods = make_wrong(Sum, lambda kind: kind(1.0).read())
    assert wrong(2.0).read() == 2.0
    assert not methods.has_effect
