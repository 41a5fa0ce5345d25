"""Claims 82 to 97: no_grad, detach, inference_mode, requires_grad, eval."""

import gc
import weakref
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn


def make_leaf(*values: float) -> Tensor:
    return torch.tensor(values, requires_grad=True)


def count_saved_elements(run: Callable[[], object]) -> int:
    sizes: list[int] = []

    def keep(t: Tensor) -> Tensor:
        sizes.append(t.numel())
        return t

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
        run()
    return sum(sizes)


def make_mlp() -> nn.Sequential:
    return nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4))


@pytest.mark.claim(82)
def test_no_grad_saves_nothing_for_backward() -> None:
    model, x = make_mlp(), torch.randn(8, 16)
    assert count_saved_elements(lambda: model(x)) > 0
    with torch.no_grad():
        assert count_saved_elements(lambda: model(x)) == 0


@pytest.mark.claim(85)
def test_a_graph_without_references_is_freed() -> None:
    model, references = make_mlp(), []
    for _ in range(3):
        activation = torch.tanh(model[0](torch.randn(8, 16)))
        references.append(weakref.ref(activation))
        out = model[2](activation).sum()
        del activation
    gc.collect()
    assert [each() is None for each in references] == [True, True, False] and out.requires_grad


@pytest.mark.claim(86)
def test_an_input_that_requires_no_grad_does_not_stop_the_parameters() -> None:
    x = torch.randn(2, 16)
    x.requires_grad = False
    assert make_mlp()(x).requires_grad
    with pytest.raises(RuntimeError):
        (make_leaf(1.0) * 2).requires_grad = False


@pytest.mark.claim(87)
def test_detach_shares_memory_and_version() -> None:
    x = make_leaf(1.0, 2.0)
    y = x.exp()
    d = y.detach()
    assert not d.requires_grad
    assert d.grad_fn is None
    assert d.data_ptr() == y.data_ptr()
    d.zero_()
    assert y.tolist() == [0, 0]
    with pytest.raises(RuntimeError):
        y.sum().backward()


@pytest.mark.claim(88)
def test_detaching_the_outputs_builds_the_graph_first() -> None:
    encoder, head, x = make_mlp(), nn.Linear(4, 2), torch.randn(8, 16)

    def by_detach() -> None:
        head(encoder(x).detach()).sum().backward()

    def by_no_grad() -> None:
        with torch.no_grad():
            features = encoder(x)
        head(features).sum().backward()

    assert count_saved_elements(by_detach) > count_saved_elements(by_no_grad)
    assert all(p.grad is None for p in encoder.parameters())


@pytest.mark.claim(89)
def test_freezing_by_no_grad_or_by_requires_grad_saves_the_same() -> None:
    encoder, head, x = make_mlp(), nn.Linear(4, 2), torch.randn(8, 16)

    def by_no_grad() -> None:
        with torch.no_grad():
            features = encoder(x)
        head(features).sum().backward()

    first = count_saved_elements(by_no_grad)
    encoder.requires_grad_(False)
    assert count_saved_elements(lambda: head(encoder(x)).sum().backward()) == first
    norm = nn.BatchNorm1d(16).requires_grad_(False)
    norm(x)
    assert norm.num_batches_tracked == 1


@pytest.mark.claim(90)
def test_a_detached_target_gets_no_gradient() -> None:
    q, target = nn.Linear(3, 1), nn.Linear(3, 1)
    s = torch.randn(4, 3)
    (q(s) - target(s).detach()).square().mean().backward()
    assert q.weight.grad is not None and target.weight.grad is None


@pytest.mark.claim(91)
def test_no_grad_stops_neither_dropout_nor_batch_statistics_and_eval_stops_no_gradient() -> None:
    with torch.no_grad():
        assert (nn.Dropout(0.5)(torch.ones(1000)) == 0).float().mean() == pytest.approx(0.5, abs=0.1)
        norm = nn.BatchNorm1d(3)
        norm(torch.randn(8, 3))
    assert norm.num_batches_tracked == 1
    assert make_mlp().eval()(torch.randn(2, 16)).requires_grad


@pytest.mark.claim(93)
def test_an_inference_tensor_may_take_part_and_may_not_be_saved() -> None:
    x = make_leaf(1.0, 2.0)
    with torch.inference_mode():
        y = torch.tensor([3.0, 4.0]) * 2
    assert y.is_inference()
    (x + y).sum().backward()
    with pytest.raises(RuntimeError):
        (x * y).sum().backward()
    with pytest.raises(RuntimeError):
        y.add_(1)
    with pytest.raises(RuntimeError):
        y.requires_grad_()
    (x * y.clone()).sum().backward()


@pytest.mark.claim(94)
def test_results_of_no_grad_re_enter_a_graph() -> None:
    x = make_leaf(2.0)
    with torch.no_grad():
        y = x * 3
    (x * y).backward()
    assert x.grad == 6


@pytest.mark.claim(96)
def test_no_gradient_flows_through_results_of_no_grad() -> None:
    x = make_leaf(2.0)
    with torch.no_grad():
        y = x * 3
    with pytest.raises(RuntimeError):
        y.backward()


@pytest.mark.claim(97)
def test_enable_grad_works_inside_no_grad_and_not_inside_inference_mode() -> None:
    x = make_leaf(2.0)
    with torch.no_grad(), torch.enable_grad():
        assert (x * 2).requires_grad
    with torch.inference_mode(), torch.enable_grad():
        assert not (x * 2).requires_grad


@pytest.mark.claim(97)
def test_no_grad_without_with_does_nothing() -> None:
    torch.no_grad()
    assert (make_leaf(2.0) * 2).requires_grad


@pytest.mark.claim(97)
def test_parameters_made_under_no_grad_require_grad() -> None:
    with torch.no_grad():
        assert nn.Linear(2, 1).weight.requires_grad


@pytest.mark.claim(97)
def test_a_view_made_under_no_grad_sends_its_leaf_nothing() -> None:
    x = make_leaf(1.0, 2.0)
    with torch.no_grad():
        view = x[:1]
    assert view.requires_grad and view.grad_fn is None
    view.sum().backward()
    assert x.grad is None
