"""Claims 243 to 247: corrected statements of labs 4 and 5."""

import gc
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor


@pytest.mark.claim(243)
def test_inference_mode_false_is_the_way_back() -> None:
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


def read_resident_mb() -> float:
    """Of this process; Linux reports it in pages of 4 kB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def grow_by(backward: Callable[[Tensor], None]) -> float:
    """The MB that remain in use after a hundred leaves of 1 MB."""
    gc.collect()
    before = read_resident_mb()
    for _ in range(100):
        backward(torch.ones(250_000, requires_grad=True))
    gc.collect()
    return read_resident_mb() - before


@pytest.mark.claim(244)
@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True")
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux for the memory")
def test_the_circle_of_a_recorded_grad_is_never_freed_unless_it_is_broken() -> None:
    def leave_it(x: Tensor) -> None:
        x.square().sum().backward(create_graph=True)

    def break_it(x: Tensor) -> None:
        leave_it(x)
        x.grad = None

    break_it(torch.ones(250_000, requires_grad=True))
    assert grow_by(break_it) < 50 and grow_by(leave_it) > 100


@pytest.mark.claim(245)
def test_set_grad_enabled_switches_on_its_own_line() -> None:
    w = torch.ones(1, requires_grad=True)
    torch.no_grad()
    torch.inference_mode()
    assert (w * 2).requires_grad
    torch.set_grad_enabled(False)
    try:
        assert not (w * 2).requires_grad
    finally:
        torch.set_grad_enabled(True)


@pytest.mark.claim(246)
def test_a_counted_write_through_overlapping_elements_has_a_silently_wrong_gradient() -> None:
    def by_unfold(x: Tensor) -> Tensor:
        h = x * 1
        h.unfold(0, 2, 1).mul_(10)
        return h

    def by_strides(x: Tensor) -> Tensor:
        h = x * 1
        h.as_strided((2, 2), (1, 1)).mul_(10)
        return h

    for f in (by_unfold, by_strides):
        x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
        h = f(x)
        assert h.tolist() == [10, 200, 30] and h._version == 1
        (got,) = torch.autograd.grad(h.sum(), x)
        steps = 1e-3 * torch.eye(3, dtype=torch.float64)
        slopes = [(f(x.detach() + s).sum() - f(x.detach() - s).sum()).item() / 2e-3 for s in steps]
        assert got.tolist() == [10, 10, 10] and slopes == pytest.approx([10, 100, 10])


@pytest.mark.claim(247)
def test_a_tiny_row_is_divided_before_it_is_multiplied() -> None:
    row = torch.tensor([0.0, 1e-36, 5e-37])
    assert not (row * (1000.0 / row.max())).isfinite().all()
    assert torch.allclose(row / row.max() * 1000.0, torch.tensor([0.0, 1000.0, 500.0]))
