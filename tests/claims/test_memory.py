"""Claims 131 to 150: memory of a GPU as far as a CPU can tell, references that keep tensors alive, checkpointing."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

without_cuda = pytest.mark.skipif(torch.cuda.is_available(), reason="says what a machine without CUDA does")


@pytest.mark.claim(131)
@without_cuda
def test_the_counters_of_cuda_are_zero_on_a_cpu_build() -> None:
    counters = (torch.cuda.memory_allocated, torch.cuda.max_memory_allocated, torch.cuda.memory_reserved)
    assert [count() for count in counters] == [0, 0, 0] and torch.cuda.empty_cache() is None
    assert hasattr(torch.accelerator, "memory_allocated")


@pytest.mark.claim(132)
@without_cuda
def test_the_summary_of_cuda_raises_on_a_cpu_build() -> None:
    with pytest.raises((KeyError, AssertionError, RuntimeError)):
        torch.cuda.memory_summary()
    with pytest.raises((AssertionError, RuntimeError)):
        torch.cuda.synchronize()


@pytest.mark.claim(133)
@without_cuda
def test_a_profile_of_cuda_alone_has_no_activity_on_a_cpu_and_the_old_name_of_its_bytes_is_taken() -> None:
    with pytest.warns(UserWarning, match="CUDA"), pytest.raises(AssertionError):
        profile(activities=[ProfilerActivity.CUDA]).start()
    both = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with pytest.warns(UserWarning, match="CUDA"), profile(activities=both, profile_memory=True) as profiler:
        torch.ones(3).exp()
    averages = profiler.key_averages()
    assert averages.table(sort_by="cuda_memory_usage") == averages.table(sort_by="device_memory_usage")
    assert {row.key: row.self_cpu_memory_usage for row in averages}["aten::exp"] == 12
    assert hasattr(averages[0], "self_device_memory_usage")


def count_live_nodes(total: Tensor) -> int:
    nodes, todo = set(), [total.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in nodes:
            nodes.add(node)
            todo += [following for following, _ in node.next_functions]
    return len(nodes)


def is_holding_tensors(node: object) -> bool:
    try:
        node._saved_result  # noqa: B018
    except RuntimeError:
        return False
    return True


@pytest.mark.claim(137)
def test_a_sum_of_losses_keeps_nodes_and_after_backward_no_activations() -> None:
    w = torch.randn(5, requires_grad=True)
    total, nodes = torch.zeros(()), []
    for _ in range(3):
        activation = w.exp()
        nodes.append(activation.grad_fn)
        loss = activation.sum()
        loss.backward()
        total = total + loss
    assert count_live_nodes(total) >= 6 and not any(map(is_holding_tensors, nodes))


@pytest.mark.claim(137)
def test_without_backward_it_keeps_the_activations() -> None:
    w = torch.randn(5, requires_grad=True)
    total, nodes = torch.zeros(()), []
    for _ in range(3):
        activation = w.exp()
        nodes.append(activation.grad_fn)
        total = total + activation.sum()
    assert all(map(is_holding_tensors, nodes))


@pytest.mark.claim(138)
def test_item_is_a_python_number() -> None:
    assert type((torch.ones(1, requires_grad=True) * 2).sum().item()) is float


@pytest.mark.claim(140)
def test_a_detached_column_keeps_its_whole_storage() -> None:
    out = torch.randn(100, 500, requires_grad=True) * 1
    column = out[:, :1].detach()
    assert column.untyped_storage().nbytes() == 200_000 and column.clone().untyped_storage().nbytes() == 400
    assert column.cpu().data_ptr() == column.data_ptr()


def count_calls(run: Callable[[Callable[[Tensor], Tensor]], Tensor]) -> tuple[int, Tensor]:
    count, x = [0], torch.linspace(-1, 1, 6).requires_grad_()

    def layer(t: Tensor) -> Tensor:
        count[0] += 1
        return (t * x).tanh()

    run(layer).sum().backward()
    assert x.grad is not None
    return count[0], x.grad


@pytest.mark.claim(143)
def test_a_checkpoint_runs_its_function_twice_and_changes_no_gradient() -> None:
    start = torch.ones(6)
    once, grad = count_calls(lambda layer: layer(start))
    twice, same = count_calls(lambda layer: checkpoint(layer, start, use_reentrant=False))
    assert (once, twice) == (1, 2) and torch.equal(grad, same)


@pytest.mark.claim(145)
@pytest.mark.filterwarnings("ignore:torch.utils.checkpoint", "ignore:None of the inputs have requires_grad")
def test_a_reentrant_checkpoint_of_plain_inputs_gives_no_gradient() -> None:
    layer, x = nn.Linear(3, 2), torch.randn(4, 3)
    assert not checkpoint(layer, x, use_reentrant=True).requires_grad
    assert checkpoint(layer, x, use_reentrant=False).requires_grad


@pytest.mark.claim(150)
def test_a_checkpoint_updates_batch_statistics_twice() -> None:
    norm = nn.BatchNorm1d(3)
    checkpoint(norm, torch.randn(8, 3, requires_grad=True), use_reentrant=False).sum().backward()
    assert norm.num_batches_tracked == 2


@pytest.mark.claim(150)
def test_a_lambda_in_a_loop_binds_late_and_gives_wrong_gradients() -> None:
    weights = [torch.full((1,), float(k + 2), requires_grad=True) for k in range(3)]
    h = torch.ones(1, requires_grad=True)
    for w in weights:
        h = checkpoint(lambda t: (t * w).tanh(), h, use_reentrant=False)
    h.sum().backward()
    late = [w.grad.clone() if w.grad is not None else None for w in weights]
    for w in weights:
        w.grad = None
    h = torch.ones(1, requires_grad=True)
    for w in weights:
        h = checkpoint(lambda t, w=w: (t * w).tanh(), h, use_reentrant=False)
    h.sum().backward()
    assert any(a is None or not torch.allclose(a, w.grad) for a, w in zip(late, weights, strict=True))
