"""Claims 52 to 81: the graph, backward, and gradients that accumulate."""

import pytest
import torch
from torch import Tensor


def make_leaf(*values: float) -> Tensor:
    return torch.tensor(values, requires_grad=True)


@pytest.mark.claim(52)
def test_a_parabola_has_slope_7_at_2() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    (x**2 + 3 * x + 1).backward()
    assert x.grad == 7


@pytest.mark.claim(53)
def test_a_cubic_has_value_9_and_slope_15_at_2() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = x**3 + 2 * x**2 - 5 * x + 3
    y.backward()
    assert y == 9 and x.grad == 15


@pytest.mark.claim(54)
def test_gradients_of_a_sum_of_squares_after_a_matrix_product() -> None:
    w, x, b = (torch.randn(*size, requires_grad=True) for size in ((4, 3), (3,), (4,)))
    z = w @ x + b
    z.square().sum().backward()
    assert torch.allclose(w.grad, torch.outer(2 * z, x)) and torch.allclose(x.grad, w.T @ (2 * z))


@pytest.mark.claim(55)
def test_one_element_is_enough_for_backward_whatever_its_shape() -> None:
    a, b = make_leaf(2.0), make_leaf(3.0)
    (a * b).backward()
    assert (a.grad, b.grad) == (3, 2)
    (a * b).reshape(1, 1).backward()


@pytest.mark.claim(56)
def test_the_gradient_of_a_sum_of_squares() -> None:
    x = make_leaf(2.0, 3.0)
    x.square().sum().backward()
    assert x.grad.tolist() == [4, 6]


@pytest.mark.claim(57)
def test_a_constant_has_an_entry_without_a_node() -> None:
    a = torch.tensor(3.0, requires_grad=True)
    out = torch.log(2 * a + 1)
    addition = out.grad_fn.next_functions[0][0]
    assert addition.next_functions[1] == (None, 0)
    out.backward()
    assert torch.isclose(a.grad, torch.tensor(2 / 7))


@pytest.mark.claim(58)
def test_a_result_has_a_grad_fn() -> None:
    assert make_leaf(1.0).sin().grad_fn is not None


@pytest.mark.claim(59)
def test_contiguous_on_a_contiguous_tensor_adds_no_node() -> None:
    y = make_leaf(1.0, 2.0) * 2
    assert y.contiguous().grad_fn is y.grad_fn


@pytest.mark.claim(60)
def test_a_result_that_requires_grad_is_no_leaf() -> None:
    x = torch.randn(3, requires_grad=True)
    leaves = [x, x.to("cpu"), x.float(), x.detach(), torch.randn(2), (torch.randn(3) * 0.01).requires_grad_()]
    others = [x * 0.01, x.double(), x.view(3), x.clone()]
    assert all(t.is_leaf for t in leaves) and not any(t.is_leaf for t in others)


@pytest.mark.claim(61)
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_only_leaves_get_a_grad() -> None:
    x = make_leaf(1.0)
    h = x * 2
    retained = x * 3
    retained.retain_grad()
    (h + retained).backward()
    assert h.requires_grad
    assert h.grad is None
    assert x.grad == 5
    assert retained.grad == 1
    with pytest.warns(UserWarning):
        (x * 2).grad  # noqa: B018


@pytest.mark.claim(62)
def test_a_leaf_has_no_grad_fn() -> None:
    assert make_leaf(1.0).grad_fn is None


@pytest.mark.claim(63)
def test_the_graph_follows_python() -> None:
    def f(x: Tensor) -> Tensor:
        return x * 3 if x > 0 else x * 5

    for value, slope in ((1.0, 3), (-1.0, 5)):
        x = make_leaf(value)
        f(x).backward()
        assert x.grad == slope


@pytest.mark.claim(64)
def test_a_node_keeps_tensors_and_computes_products() -> None:
    y = torch.randn(1000, requires_grad=True).exp()
    assert y.grad_fn._saved_result.shape == (1000,)
    assert torch.equal(y.grad_fn(torch.full((1000,), 2.0)), 2 * y)


@pytest.mark.claim(65)
def test_nodes_run_from_the_result_to_the_leaves() -> None:
    x, order = make_leaf(1.0), []
    a = x * 2
    b = a * 3
    a.register_hook(lambda grad: order.append("a"))
    b.register_hook(lambda grad: order.append("b"))
    (b * 4).backward()
    assert order == ["b", "a"]


@pytest.mark.claim(67)
def test_operations_on_tensors_without_grad_are_not_tracked() -> None:
    assert (torch.ones(2) + torch.ones(2)).grad_fn is None


@pytest.mark.claim(69)
def test_backward_of_several_elements_needs_an_argument() -> None:
    with pytest.raises(RuntimeError):
        (make_leaf(1.0, 2.0) * 2).backward()


@pytest.mark.claim(70)
def test_a_second_backward_through_one_graph_raises() -> None:
    x = make_leaf(1.0, 2.0, 3.0)
    y = x**2
    y.sum().backward()
    with pytest.raises(RuntimeError):
        y.backward(torch.ones(3))
    first, x.grad = x.grad, None
    (x**2).backward(torch.ones(3))
    assert torch.equal(x.grad, first)


@pytest.mark.claim(71)
def test_an_upstream_gradient_has_the_shape_of_the_output() -> None:
    with pytest.raises(RuntimeError):
        (make_leaf(1.0, 2.0, 3.0) * 2).backward(torch.ones(2))


@pytest.mark.claim(72)
def test_the_worked_forward_and_backward_give_the_printed_numbers() -> None:
    x, target = torch.tensor([[1.0, 2.0]]), torch.tensor([[5.0]])
    w, b = torch.tensor([[0.5], [1.5]], requires_grad=True), torch.tensor([0.1], requires_grad=True)
    y = x @ w + b
    loss = (y - target) ** 2
    loss.backward()
    assert torch.allclose(y, torch.tensor([[3.6]])) and torch.allclose(loss, torch.tensor([[1.96]]))
    assert torch.allclose(w.grad, torch.tensor([[-2.8], [-5.6]])) and torch.allclose(b.grad, torch.tensor([-2.8]))


@pytest.mark.claim(73)
def test_gradients_accumulate() -> None:
    x, gradients = make_leaf(1.0, 2.0), []
    for _ in range(2):
        x.square().sum().backward()
        gradients.append(x.grad.tolist())
    x.grad.zero_()
    x.square().sum().backward()
    assert [*gradients, x.grad.tolist()] == [[2, 4], [4, 8], [2, 4]]


@pytest.mark.claim(74)
def test_before_the_first_backward_there_is_nothing_to_zero() -> None:
    with pytest.raises(AttributeError):
        make_leaf(1.0).grad.zero_()


@pytest.mark.claim(75)
def test_zero_grad_sets_none_and_adam_notices_the_difference() -> None:
    after = {}
    for to_none in (True, False):
        p = torch.nn.Parameter(torch.ones(1))
        adam = torch.optim.Adam([p], lr=0.1)
        p.sum().backward()
        adam.step()
        adam.zero_grad(set_to_none=to_none)
        adam.step()
        after[to_none] = p.item()
    assert after[True] == pytest.approx(0.9, abs=1e-3) and after[False] == pytest.approx(0.833, abs=1e-3)
    layer = torch.nn.Linear(1, 1)
    layer(torch.ones(1, 1)).sum().backward()
    layer.zero_grad()
    assert layer.weight.grad is None


def _compute_losses(zero_at: str) -> tuple[list[float], Tensor]:
    model = torch.nn.Linear(3, 1)
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(0.5)
    optimizer, losses = torch.optim.SGD(model.parameters(), 0.1), []
    x = torch.randn(8, 3, generator=torch.Generator().manual_seed(0))
    for _ in range(4):
        if zero_at == "start":
            optimizer.zero_grad()
        loss = model(x).square().mean()
        if zero_at == "before backward":
            optimizer.zero_grad()
        loss.backward()
        if zero_at == "before step":
            optimizer.zero_grad()
        optimizer.step()
        if zero_at == "end":
            optimizer.zero_grad()
        losses.append(loss.item())
    return losses, model.weight.detach()


@pytest.mark.claim(76)
def test_zero_grad_may_be_anywhere_but_between_backward_and_step() -> None:
    weights = [_compute_losses(place)[1] for place in ("start", "before backward", "end")]
    assert torch.equal(weights[0], weights[1]) and torch.equal(weights[0], weights[2])
    assert len(set(_compute_losses("before step")[0])) == 1


def _compare_accumulated(sizes: list[int], share: bool) -> float:
    """The largest difference to the full batch's gradient. share: each loss by its share of the samples."""
    model = torch.nn.Linear(4, 1)
    x = torch.randn(sum(sizes), 4, generator=torch.Generator().manual_seed(1))
    y = torch.randn(sum(sizes), 1, generator=torch.Generator().manual_seed(2))
    full_gradient = torch.autograd.grad((model(x) - y).square().mean(), model.weight)[0]
    gradient = torch.zeros_like(full_gradient)
    for a, b in zip(x.split(sizes), y.split(sizes), strict=True):
        weight = len(a) / sum(sizes) if share else 1 / len(sizes)
        gradient += torch.autograd.grad((model(a) - b).square().mean() * weight, model.weight)[0]
    return float((gradient - full_gradient).abs().max())


@pytest.mark.claim(77)
def test_dividing_by_the_number_of_batches_is_exact_only_for_equal_ones() -> None:
    assert _compare_accumulated([8, 8, 8, 8], share=False) < 1e-6
    assert _compare_accumulated([10, 10, 10, 2], share=False) > 1e-3
    assert _compare_accumulated([10, 10, 10, 2], share=True) < 1e-6


@pytest.mark.claim(78)
def test_accumulating_mimics_a_larger_batch_with_fewer_activations() -> None:
    def saved(rows: int) -> int:
        sizes = []
        hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: sizes.append(t.numel()) or t, lambda t: t)
        with hooks:
            torch.nn.Linear(4, 4)(torch.randn(rows, 4)).tanh().sum()
        return sum(sizes)

    assert saved(8) < saved(32)


@pytest.mark.claim(80)
def test_without_zeroing_the_gradient_is_the_sum() -> None:
    x = make_leaf(1.0)
    for k in (1, 2, 3):
        (k * x).backward()
    assert x.grad == 6


@pytest.mark.claim(81)
def test_a_kept_grad_is_an_alias() -> None:
    x = make_leaf(1.0)
    (x * 12).backward()
    alias = x.grad
    (x * 12).backward()
    assert alias == 24 and alias is x.grad
