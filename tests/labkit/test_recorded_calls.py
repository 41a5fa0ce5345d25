"""The result of a recorded call can be used like the function's own."""

import torch

from labkit import Seen


def test_its_result_can_be_changed_in_place_and_detached_as_the_functions_own() -> None:
    x = torch.ones(3, requires_grad=True)
    for f in (torch.sin, Seen(torch.sin)):
        added, cut = f(x), f(x)
        added += 1
        cut.detach_()
        (grad,) = torch.autograd.grad(added.sum(), x)
        assert torch.equal(grad, torch.cos(x)) and torch.equal(cut, torch.sin(x).detach())
        assert not cut.requires_grad


def test_a_result_that_was_detached_in_place_keeps_no_graph() -> None:
    seen = Seen(torch.sin)
    result = seen(torch.ones(3, requires_grad=True))
    assert seen.kept == 1
    result.detach_()
    assert seen.kept == 0
