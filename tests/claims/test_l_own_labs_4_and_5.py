"""Claims 243 to 245: what lab 4 of this course said, corrected."""

import gc
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor


def test_243_inference_mode_false_is_the_way_back() -> None:
    w = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        made_before = torch.ones(2)
        with torch.enable_grad():
            assert not (w * 2).requires_grad
        with torch.inference_mode(False):
            assert (w * 2).requires_grad and not torch.ones(2).is_inference()
            assert made_before.is_inference()
            with pytest.raises(RuntimeError):
                _ = made_before * w


def resident_mb() -> float:
    """Of this process; Linux says it in pages of 4 kB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def grow_by(backward: Callable[[Tensor], None]) -> float:
    """The MB that a hundred leaves of 1 MB leave behind."""
    gc.collect()
    before = resident_mb()
    for _ in range(100):
        backward(torch.ones(250_000, requires_grad=True))
    gc.collect()
    return resident_mb() - before


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True")
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux for the memory")
def test_244_the_circle_of_a_recorded_grad_is_never_freed_unless_it_is_broken() -> None:
    def leave_it(x: Tensor) -> None:
        x.square().sum().backward(create_graph=True)

    def break_it(x: Tensor) -> None:
        leave_it(x)
        x.grad = None

    break_it(torch.ones(250_000, requires_grad=True))
    assert grow_by(break_it) < 50 and grow_by(leave_it) > 100


def test_245_set_grad_enabled_switches_on_a_line_of_its_own() -> None:
    w = torch.ones(1, requires_grad=True)
    torch.no_grad()
    torch.inference_mode()
    assert (w * 2).requires_grad
    torch.set_grad_enabled(False)
    try:
        assert not (w * 2).requires_grad
    finally:
        torch.set_grad_enabled(True)
