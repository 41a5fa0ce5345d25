"""Claims 151 to 179: custom functions, autocast, loss scaling, bfloat16."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ClampedEstimator(torch.autograd.Function):
    """The source's "clipped" straight-through estimator: it clamps the upstream gradient, which isn't the intention."""

    @staticmethod
    def forward(ctx, x):
        return (x > 0).float()

    @staticmethod
    def backward(ctx, grad):
        return grad.clamp(-1, 1)


@pytest.mark.claim(151)
def test_the_example_gives_ones_and_float32_for_float64() -> None:
    x = torch.tensor([-1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = ClampedEstimator.apply(x)
    assert y.dtype == torch.float32
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]


@pytest.mark.claim(152)
def test_rounding_has_a_gradient_of_zero_and_a_comparison_none() -> None:
    x = torch.tensor([0.3, 1.7], requires_grad=True)
    x.round().sum().backward()
    assert x.grad.tolist() == [0, 0] and (x > 0).float().grad_fn is None


@pytest.mark.claim(153)
def test_clamping_the_upstream_gradient_is_not_masking_by_the_input() -> None:
    x = torch.tensor([-3.0, -0.5, 0.5, 3.0], requires_grad=True)
    ClampedEstimator.apply(x).backward(torch.full((4,), 5.0))
    assert x.grad.tolist() == [1, 1, 1, 1]
    x.grad = None
    F.hardtanh(x).backward(torch.full((4,), 5.0))
    assert x.grad.tolist() == [0, 5, 5, 0]


@pytest.mark.claim(154)
def test_one_minus_sigmoid_loses_all_digits_in_the_right_tail() -> None:
    x = torch.tensor(30.0, dtype=torch.float32, requires_grad=True)
    assert (1 - x.sigmoid()).item() == 0
    F.logsigmoid(x).backward()
    assert x.grad.item() == pytest.approx(math.exp(-30), rel=1e-3)
    assert (torch.tensor(-100.0).sigmoid().log()).item() == -math.inf


@pytest.mark.claim(155)
def test_torch_where_on_its_own_gives_nan_gradients() -> None:
    for value in (-100.0, 100.0):
        x = torch.tensor(value, requires_grad=True)
        torch.where(x >= 0, -torch.log(1 + torch.exp(-x)), x - torch.log(1 + torch.exp(x))).backward()
        assert math.isnan(x.grad.item())


@pytest.mark.claim(156)
def test_func_needs_setup_context() -> None:
    with pytest.raises(RuntimeError):
        torch.func.grad(lambda x: ClampedEstimator.apply(x).sum())(torch.randn(3))


@pytest.mark.claim(157)
def test_gradcheck_rejects_a_straight_through_estimator() -> None:
    x = torch.tensor([-0.7, 0.6], dtype=torch.float64, requires_grad=True)
    assert not torch.autograd.gradcheck(lambda t: ClampedEstimator.apply(t).double(), x, raise_exception=False)


@pytest.mark.claim(158, 165)
def test_autocast_keeps_weights_and_gradients_in_float32() -> None:
    layer = nn.Linear(8, 8)
    with torch.autocast("cpu", torch.bfloat16):
        y = layer(torch.randn(4, 8))
    y.float().sum().backward()
    assert y.dtype == torch.bfloat16 and layer.weight.dtype == layer.weight.grad.dtype == torch.float32


@pytest.mark.claim(160)
def test_float16_and_bfloat16_have_these_ranges() -> None:
    half, brain = torch.finfo(torch.float16), torch.finfo(torch.bfloat16)
    assert (half.max, half.tiny) == (65504, 2**-14)
    assert brain.eps == 2**-7
    assert brain.tiny == 2**-126
    cast = torch.tensor([65519.0, 65520.0, 2.9e-8, 3e-8]).half().tolist()
    assert cast == [65504, math.inf, 0, 2**-24]


@pytest.mark.claim(161)
def test_torch_amp_is_current_and_torch_cuda_amp_deprecated() -> None:
    assert torch.amp.autocast and torch.amp.GradScaler
    with pytest.warns(FutureWarning):
        torch.cpu.amp.autocast()


@pytest.mark.claim(162, 163)
@pytest.mark.skipif(torch.cuda.is_available(), reason="says what a machine without CUDA does")
def test_without_cuda_its_scaler_and_autocast_are_off() -> None:
    with pytest.warns(UserWarning):
        assert torch.amp.GradScaler().get_scale() == 1
    scaler = torch.amp.GradScaler("cpu")
    assert (scaler.get_scale(), scaler.get_growth_interval()) == (65536, 2000)
    with pytest.warns(UserWarning), torch.autocast("cuda"):
        assert nn.Linear(2, 2)(torch.randn(1, 2)).dtype == torch.float32


@pytest.mark.claim(164)
def test_losses_are_float32_under_autocast() -> None:
    with torch.autocast("cpu", torch.bfloat16):
        logits = nn.Linear(4, 3)(torch.randn(5, 4))
        assert F.cross_entropy(logits, torch.tensor([0, 1, 2, 0, 1])).dtype == torch.float32


def step_scaled(clip_first: bool) -> float:
    """How far one step of SGD moves a weight of 1 whose gradient is 5, clipped to a norm of 1."""
    w = nn.Parameter(torch.ones(1))
    scaler, sgd = torch.amp.GradScaler("cpu"), torch.optim.SGD([w], 0.1)
    scaler.scale(5 * w.sum()).backward()
    if not clip_first:
        scaler.unscale_(sgd)
    nn.utils.clip_grad_norm_([w], 1.0)
    scaler.step(sgd)
    return 1 - w.item()


@pytest.mark.claim(166)
def test_clip_after_unscale() -> None:
    assert step_scaled(clip_first=False) == pytest.approx(0.1, rel=1e-4)
    assert step_scaled(clip_first=True) < 1e-5


@pytest.mark.claim(167, 177)
def test_small_values_underflow_in_float16_and_bfloat16() -> None:
    tiny = torch.tensor([1e-8])
    assert tiny.half() == 0
    assert tiny.bfloat16() != 0
    assert (tiny * 65536).half() != 0
    assert torch.tensor([4e-41]).bfloat16() == 0


@pytest.mark.claim(169)
def test_one_autocast_around_the_loop_does_not_learn() -> None:
    def last_change(around: bool) -> float:
        layer, x = nn.Linear(2, 1), torch.tensor([[1.0, 2.0]])
        sgd, losses = torch.optim.SGD(layer.parameters(), 0.05), []

        def step() -> None:
            sgd.zero_grad()
            loss = (layer(x).float() - 9).square().mean()
            loss.backward()
            sgd.step()
            losses.append(loss.item())

        if around:
            with torch.autocast("cpu", torch.bfloat16):
                for _ in range(4):
                    step()
        else:
            for _ in range(4):
                with torch.autocast("cpu", torch.bfloat16):
                    step()
        return losses[0] - losses[-1]

    assert last_change(around=True) == 0 and last_change(around=False) > 0


@pytest.mark.claim(170)
def test_adam_keeps_eight_bytes_a_parameter() -> None:
    w = nn.Parameter(torch.ones(1000))
    adam = torch.optim.Adam([w])
    w.sum().backward()
    adam.step()
    state = [t for t in adam.state[w].values() if isinstance(t, Tensor) and t.numel() == 1000]
    assert sum(t.nbytes for t in state) == 8 * 1000
    assert (4 + 4 + 8) * 7 == 112  # gigabytes for 7 billion parameters: weights, gradients, moments


@pytest.mark.claim(171, 172)
def test_the_scale_grows_and_halves_and_bad_steps_are_skipped() -> None:
    w = nn.Parameter(torch.ones(1))
    scaler, sgd = torch.amp.GradScaler("cpu", init_scale=4, growth_interval=2), torch.optim.SGD([w], 0.0)
    scales = []
    for factor in (1.0, 1.0, math.inf, 1.0, math.nan, 1.0, 1.0):
        sgd.zero_grad()
        scaler.scale((w * factor).sum()).backward()
        scaler.step(sgd)
        scaler.update()
        scales.append(scaler.get_scale())
    assert scales == [4, 8, 4, 4, 2, 2, 4] and w == 1


@pytest.mark.claim(173, 174)
def test_the_scaler_refuses_a_wrong_order() -> None:
    w = nn.Parameter(torch.ones(1))
    scaler, sgd = torch.amp.GradScaler("cpu"), torch.optim.SGD([w], 0.1)
    scaler.scale(w.sum()).backward()
    scaler.unscale_(sgd)
    with pytest.raises(RuntimeError):
        scaler.unscale_(sgd)
    scaler.step(sgd)
    with pytest.raises(RuntimeError):
        scaler.step(sgd)


@pytest.mark.claim(178)
def test_pure_bfloat16_updates_stall() -> None:
    w = {dtype: torch.tensor(1.0, dtype=dtype) for dtype in (torch.bfloat16, torch.float32)}
    for dtype, t in w.items():
        for _ in range(1000):
            w[dtype] = t = t + 1e-3
    assert w[torch.bfloat16] == 1 and w[torch.float32] == pytest.approx(2, abs=1e-3)
