"""The values of a graph's nodes are those of the forward pass, or unknown."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from labkit.pictures.node_values import compute_values


def collect_nodes(output: Tensor) -> list[object]:
    """All nodes in the order in which backward can run them, for graphs without shared nodes."""
    nodes, waiting = [], [output.grad_fn]
    while waiting:
        node = waiting.pop(0)
        if node is not None:
            nodes.append(node)
            waiting += [following for following, _ in node.next_functions]
    return nodes


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.exp(),
        lambda x: x * 3,
        lambda x: x.sin(),
        lambda x: -x,
        lambda x: x.sum(),
        lambda x: (x * x).mean(),
        lambda x: x.tanh() * x,
        lambda x: x.exp() + x.sin(),
    ],
)
def test_a_node_between_the_leaf_and_the_result_has_its_value(f: Callable[[Tensor], Tensor]) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    inner = f(x)
    output = (inner.sum() if inner.dim() else inner) * 2
    node = inner.grad_fn
    value = compute_values(collect_nodes(output), [output])[id(node)]
    assert torch.equal(value, inner.detach())


def test_a_value_that_depends_on_a_constant_which_no_node_keeps_is_unknown() -> None:
    x = torch.tensor(1.0, requires_grad=True)
    inner = x + 1
    output = inner + x
    assert id(inner.grad_fn) not in compute_values(collect_nodes(output), [output])


def test_a_graph_that_has_been_freed_still_has_the_values_of_its_leaves() -> None:
    x = torch.tensor(1.0, requires_grad=True)
    output = x.exp() * x.sin()
    nodes = collect_nodes(output)
    output.backward()
    assert compute_values(nodes, [output])[id(nodes[-1])] == 1
