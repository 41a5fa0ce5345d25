"""The result of a recorded call can be used like the function's own."""

import torch

from labkit import Seen


def test_the_result_of_a_recorded_call_can_be_changed_in_place_and_detached() -> None:
    x = torch.ones(3, requires_grad=True)
    for f in (torch.sin, Seen(torch.sin)):
        sum_result, detached = f(x), f(x)
        sum_result += 1
        detached.detach_()
        (grad,) = torch.autograd.grad(sum_result.sum(), x)
        assert torch.equal(grad, torch.cos(x)) and torch.equal(detached, torch.sin(x).detach())
        assert not detached.requires_grad


def test_a_result_that_was_detached_in_place_keeps_no_graph() -> None:
    recorder = Seen(torch.sin)
    result = recorder(torch.ones(3, requires_grad=True))
    assert recorder.kept == 1
    result.detach_()
    assert recorder.kept == 0
