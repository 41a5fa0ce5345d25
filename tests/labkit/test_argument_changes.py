"""unchanged() calls a function and says which of its arguments changed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from labkit import unchanged


def make_arguments() -> tuple[Tensor, dict[str, Any]]:
    x = torch.tensor([1.0, float("nan")], requires_grad=True)
    x.grad = torch.tensor([3.0, 4.0])
    return x, {"batches": [torch.arange(3), 2.5], "table": np.ones(2), "f": torch.tanh, "name": "adam"}


def test_a_call_that_leaves_its_arguments_gives_its_result() -> None:
    x, table = make_arguments()
    assert unchanged(lambda x, table, n: len(table) + n, x, table, n=2) == 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, more: x.detach().mul_(2), "argument 1"),
        (lambda x, more: x.requires_grad_(False), "requires_grad of argument 1 is False"),
        (lambda x, more: x.grad.zero_(), ".grad of argument 1 is 0"),
        (lambda x, more: setattr(x, "grad", None), ".grad of argument 1 is None"),
        (lambda x, more: more["batches"][0].add_(1), r"argument 2\['batches'\]\[0\] is 1"),
        (lambda x, more: more["batches"].pop(), r"the number of items of argument 2\['batches'\] is 1"),
        (lambda x, more: more.update(name="sgd"), r"argument 2\['name'\] is 'sgd'"),
        (lambda x, more: more["table"].fill(7.0), r"argument 2\['table'\] is 7"),
        (lambda x, more: more.update(another=1), "the keys of argument 2 have changed"),
        (lambda x, more: more.update(name=more.pop("name")) or more.update(f=more.pop("f")), "the keys of argument 2"),
    ],
)
def test_a_call_that_changes_an_argument_is_reported(
    change: Callable[[Tensor, dict[str, Any]], Any], message: str
) -> None:
    with pytest.raises(AssertionError, match=f"after the call, {message}"):
        unchanged(change, *make_arguments())


def test_a_keyword_argument_is_reported_by_its_name() -> None:
    with pytest.raises(AssertionError, match="after the call, x"):
        unchanged(lambda x: x.zero_(), x=torch.ones(2))


def test_a_result_of_an_operation_that_keeps_its_gradient_is_reported() -> None:
    x = torch.ones(2, requires_grad=True) * 2
    with pytest.raises(AssertionError, match="after the call, retains_grad of x is True"):
        unchanged(lambda x: x.retain_grad(), x=x)
