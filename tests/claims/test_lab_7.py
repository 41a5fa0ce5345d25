"""Claims 301 to 316: corrected statements of labs 7 to 7c."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from labkit import memory

aten = torch.ops.aten


@pytest.mark.claim(301)
def test_optimizers_without_a_foreach_step() -> None:
    def has_foreach(kind: type[torch.optim.Optimizer]) -> bool:
        return "foreach" in inspect.signature(kind).parameters

    assert has_foreach(torch.optim.SGD)
    assert has_foreach(torch.optim.Adam)
    assert has_foreach(torch.optim.RMSprop)
    for kind in (torch.optim.LBFGS, torch.optim.SparseAdam, torch.optim.Muon):
        assert not has_foreach(kind)


@pytest.mark.claim(302)
@pytest.mark.parametrize(
    ("way", "sets"),
    [({"foreach": True}, 1.0), ({"foreach": False}, (3 + 3 + 2) / 6), ({"fused": True}, 0.0)],  # 2: the one before
)
def test_a_step_of_adam_needs_memory_for_copies_of_the_parameters(way: dict[str, bool], sets: float) -> None:
    parameters = [nn.Parameter(torch.ones(size, 1000)) for size in (1, 2, 3)]
    optimizer = torch.optim.Adam(parameters, **way)
    for _ in range(2):  # the first step makes the states
        for parameter in parameters:
            parameter.grad = torch.ones_like(parameter)
        states = [list(state.values()) for state in optimizer.state.values()]
        with memory.watch(parameters, [p.grad for p in parameters], states) as watch:
            optimizer.step()
    assert watch.peak / memory.nbytes(parameters) == pytest.approx(sets, abs=0.01)


linear_cross_entropy = getattr(F, "linear_cross_entropy", None)
since_2_13 = pytest.mark.skipif(linear_cross_entropy is None, reason="came with PyTorch 2.13")


def measure_profiled_peak(f: Callable[[], object], folder: Path) -> int:
    """The CPU allocator's peak in bytes, as the profiler recorded it."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        f()
    profiler.export_chrome_trace(str(folder / "trace.json"))
    rows = json.loads((folder / "trace.json").read_text())["traceEvents"]
    moments = sorted((row["ts"], row["args"]["Bytes"]) for row in rows if row.get("name") == "[memory]")
    now = peak = 0
    for _, change in moments:
        now += change
        peak = max(peak, now)
    return peak


def make_last_layer() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(128, 8, generator=generator, requires_grad=True)
    vocabulary = torch.randn(500, 8, generator=generator).requires_grad_()
    return rows, vocabulary, torch.randint(500, (128,), generator=generator)


@pytest.mark.claim(303)
@since_2_13
def test_watch_does_not_see_memory_that_an_operation_takes_inside(tmp_path: Path) -> None:
    rows, vocabulary, labels = make_last_layer()
    one_chunk = nn.LinearCrossEntropyOptions(batch_chunk_size=128)
    with memory.watch(rows, vocabulary, labels) as watch:
        linear_cross_entropy(rows, vocabulary, labels, options=one_chunk)
    logits = 128 * 500 * 4
    inside = measure_profiled_peak(lambda: linear_cross_entropy(rows, vocabulary, labels, options=one_chunk), tmp_path)
    assert watch.peak < logits <= inside


@pytest.mark.claim(304)
def test_a_checkpoint_around_the_last_segment_saves_one_activation() -> None:
    layers = [nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(16)]
    x = torch.ones(64, 8)

    def peak(last_too: bool) -> float:
        for layer in layers:
            layer.zero_grad()
            for parameter in layer.parameters():
                parameter.grad = torch.zeros_like(parameter)
        with memory.watch(*layers, x) as watch:
            out = x
            for first in (0, 4, 8, 12):
                part = nn.Sequential(*layers[first : first + 4])
                out = checkpoint(part, out, use_reentrant=False) if last_too or first < 12 else part(out)
            out.square().mean().backward()
        return watch.peak / memory.nbytes(x)

    assert (round(peak(True)), round(peak(False))) == (10, 11)


@pytest.mark.claim(305)
def test_a_result_may_depend_on_buffers_that_the_call_does_not_change() -> None:
    norm, x = nn.BatchNorm1d(2).eval(), torch.tensor([[1.0, 2.0], [3.0, 5.0]])
    before, buffers = norm(x), [buffer.clone() for buffer in norm.buffers()]
    assert all(torch.equal(a, b) for a, b in zip(norm.buffers(), buffers, strict=True))
    norm.running_mean += 1
    assert not torch.allclose(norm(x), before)


@pytest.mark.claim(308)
def test_a_schedule_adds_regions(tmp_path: Path) -> None:
    def write(profiler: profile) -> None:
        profiler.export_chrome_trace(str(tmp_path / "trace.json"))

    plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    with profile(activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=write) as profiler:
        for _ in range(4):
            with record_function("mine"):
                torch.ones(3).exp()
            profiler.step()
    rows = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    names = {row["name"] for row in rows if row.get("cat") == "user_annotation"}
    assert names == {"mine", "ProfilerStep#2", "ProfilerStep#3"}


@pytest.mark.claim(311)
def test_allocator_settings_change_while_a_program_runs() -> None:
    assert torch._C._accelerator_setAllocatorSettings("max_split_size_mb:128") is None
    with pytest.warns(FutureWarning, match="_accelerator_setAllocatorSettings"):
        torch.cuda.memory._set_allocator_settings("")


@pytest.mark.claim(313)
@pytest.mark.skipif(not hasattr(CheckpointPolicy, "MUST_CPU_OFFLOAD"), reason="came with PyTorch 2.13")
def test_there_are_six_policies() -> None:
    kinds = ("SAVE", "RECOMPUTE", "CPU_OFFLOAD")
    assert {policy.name for policy in CheckpointPolicy} == {
        f"{how}_{kind}" for how in ("MUST", "PREFER") for kind in kinds
    }


@pytest.mark.claim(314)
def test_a_list_refuses_names_that_are_no_overload_and_a_policy_compares_them_in_vain() -> None:
    with pytest.raises(ValueError, match="default"):
        create_selective_checkpoint_contexts([aten.mm])
    operations = []

    def policy(ctx: object, op: object, *args: object, **kwargs: object) -> CheckpointPolicy:
        operations.append((op == aten.mm, op == aten.mm.default))
        return CheckpointPolicy.PREFER_RECOMPUTE

    x = torch.ones(2, 2, requires_grad=True)
    out = checkpoint(
        lambda t: t @ t, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy)
    )
    out.sum().backward()
    assert operations and set(operations) == {(False, True)}


@pytest.mark.claim(315)
def test_a_hook_that_returns_the_result_itself_keeps_it() -> None:
    def kept_bytes(pack: Callable[[Tensor], Tensor]) -> int:
        x = torch.ones(1000, requires_grad=True)
        with memory.watch(x) as watch:
            for _ in range(5):
                with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                    x.exp()
        return watch.now

    assert (kept_bytes(lambda t: t), kept_bytes(lambda t: t.detach())) == (20_000, 0)


@pytest.mark.claim(316)
@since_2_13
def test_cross_entropy_in_parts_is_built_in(tmp_path: Path) -> None:
    rows, vocabulary, labels = make_last_layer()
    options = nn.LinearCrossEntropyOptions(batch_chunk_size=16)
    want = F.cross_entropy(rows @ vocabulary.T, labels)
    got = linear_cross_entropy(rows, vocabulary, labels, options=options)
    assert got.item() == pytest.approx(want.item(), rel=1e-5)
    expected_gradients = torch.autograd.grad(want, [rows, vocabulary])
    gradients = torch.autograd.grad(got, [rows, vocabulary])
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(gradients, expected_gradients, strict=True))
    with pytest.raises(RuntimeError):
        torch.autograd.grad(got, [rows, vocabulary])
    full_peak = measure_profiled_peak(lambda: F.cross_entropy(rows @ vocabulary.T, labels).backward(), tmp_path)
    parts = measure_profiled_peak(
        lambda: linear_cross_entropy(rows, vocabulary, labels, options=options).backward(), tmp_path
    )
    assert parts < full_peak / 3
