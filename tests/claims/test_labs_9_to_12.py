"""Claims 317 to 329: corrected statements of labs 9 to 12."""

import inspect
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn


@pytest.mark.claim(318)
def test_formats_of_eight_bits_have_a_small_range() -> None:
    assert torch.finfo(torch.float8_e4m3fn).max == 448 and torch.finfo(torch.float8_e5m2).max == 57344
    assert torch.float8_e4m3fn.itemsize == 1


@pytest.mark.claim(319)
@pytest.mark.parametrize(("n", "share"), [(321, 0.95), (10**6, 0.47)])
def test_clipping_before_unscale_slows_adam_down_in_a_large_model(n: int, share: float) -> None:
    def first_step(scale: float) -> float:
        w = nn.Parameter(torch.zeros(n))
        w.grad = torch.randn(n, generator=torch.Generator().manual_seed(0)) * scale
        nn.utils.clip_grad_norm_([w], 1.0)
        w.grad /= scale
        torch.optim.Adam([w]).step()
        return w.detach().abs().mean().item()

    ratio = first_step(65536.0) / first_step(1.0)
    assert ratio == pytest.approx(share, abs=0.02) if n > 321 else ratio > share


@pytest.mark.claim(320)
def test_bfloat16_has_eight_significant_bits() -> None:
    assert torch.finfo(torch.bfloat16).eps == 2**-7 and torch.finfo(torch.float16).eps == 2**-10


@pytest.mark.claim(321)
def test_a_scaler_refuses_a_step_without_gradients() -> None:
    scaler, optimizer = torch.amp.GradScaler("cpu"), torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1)
    scaler.scale(torch.tensor(1.0))
    with pytest.raises(AssertionError):
        scaler.step(optimizer)


class CallCounter(nn.Module):
    """Counts its calls in an attribute, which begins with first."""

    def __init__(self, first: float) -> None:
        super().__init__()
        self.step = first

    def forward(self, x: Tensor) -> Tensor:
        self.step += 1
        return x * 0.9**self.step


def count_graphs_of_twelve_calls(model: nn.Module) -> int:
    torch.compiler.reset()
    graphs: list[torch.fx.GraphModule] = []

    def backend(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., object]:
        graphs.append(graph)
        return graph.forward

    compiled_f = torch.compile(model, backend=backend)
    for _ in range(12):
        compiled_f(torch.ones(2))
    return len(graphs)


@pytest.mark.claim(322)
@pytest.mark.skipif(torch.__version__ < "2.13", reason="as it is since PyTorch 2.13")
def test_float_attributes_are_opened_and_ints_only_when_asked() -> None:
    assert count_graphs_of_twelve_calls(CallCounter(0)) == 8
    assert count_graphs_of_twelve_calls(CallCounter(0.0)) == 2
    with torch._dynamo.config.patch(allow_unspec_int_on_nn_module=True):
        assert count_graphs_of_twelve_calls(CallCounter(0)) == 2


@pytest.mark.claim(323)
def test_a_loose_load_returns_the_names_that_do_not_fit() -> None:
    state = torch.compile(nn.Linear(2, 1), backend="eager").state_dict()
    keys = nn.Linear(2, 1).load_state_dict(state, strict=False)
    assert keys.missing_keys == ["weight", "bias"]
    assert keys.unexpected_keys == ["_orig_mod.weight", "_orig_mod.bias"]


@pytest.mark.claim(325)
def test_a_group_has_a_timeout() -> None:
    assert dist.constants.default_pg_timeout == timedelta(minutes=30)
    assert "timeout" in inspect.signature(dist.init_process_group).parameters


@pytest.fixture
def group_of_one(tmp_path: Path) -> Iterator[None]:
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/rendezvous", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.claim(326)
@pytest.mark.skipif(not hasattr(dist, "all_gather_single"), reason="came with PyTorch 2.13")
@pytest.mark.usefixtures("group_of_one")
def test_the_halves_of_an_all_reduce_have_new_names() -> None:
    out = torch.zeros(2)
    dist.all_gather_single(out, torch.ones(2))
    dist.reduce_scatter_single(out, torch.ones(2))
    with pytest.warns(FutureWarning, match="all_gather_single"):
        dist.all_gather_into_tensor(out, torch.ones(2))
    with pytest.warns(FutureWarning, match="reduce_scatter_single"):
        dist.reduce_scatter_tensor(out, torch.ones(2))


@pytest.mark.claim(327)
def test_the_first_bucket_is_small() -> None:
    assert dist._DEFAULT_FIRST_BUCKET_BYTES == 2**20


@pytest.mark.claim(329)
def test_reset_forgets_compiled_code() -> None:
    graphs: list[torch.fx.GraphModule] = []

    def backend(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., object]:
        graphs.append(graph)
        return graph.forward

    compiled_f, counts = torch.compile(torch.nn.functional.silu, backend=backend), []
    for _ in range(2):
        torch.compiler.reset()
        for _ in range(2):
            compiled_f(torch.ones(2))
            counts.append(len(graphs))
    assert counts == [1, 1, 2, 2]
