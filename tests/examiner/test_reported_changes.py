"""Changes that a reply reports are applied to the examiner's argument; harmful ones are refused."""

import pytest
import torch

from autograder.examiner.reported_changes import ReportedChanges
from autograder.rpc.frames import ProtocolError
from tests.examiner.world import open_world


def make_hooked(hook: object) -> torch.Tensor:
    t = torch.ones(3, requires_grad=True)
    ReportedChanges([t], [{"hooks": [hook]}], [t._version]).apply_after_connecting()
    return t


def test_a_hook_of_torchs_that_keeps_the_shape_is_registered() -> None:
    t = make_hooked(torch.neg)
    (2 * t).sum().backward()
    assert t.grad is not None and torch.equal(t.grad, torch.full((3,), -2.0))


@pytest.mark.parametrize("hook", [torch.diag, torch.Tensor.outer, torch.sum, torch.stack, 3])
def test_a_hook_that_changes_the_shape_is_refused_before_it_runs(hook: object) -> None:
    """Of n numbers, diag makes n * n."""
    with pytest.raises(ProtocolError):
        make_hooked(hook)


def test_a_change_in_place_that_autograd_refuses_raises_its_exception() -> None:
    base = torch.rand(4, requires_grad=True)
    with open_world(fill=lambda t: t.fill_(1)) as world, pytest.raises(RuntimeError):
        world.get_proxy("fill")(base[1:])
