"""Claims 98 to 113: in-place operations, anomaly mode, retain_graph."""

import pytest
import torch
from torch import Tensor, nn


def make_leaf(*values: float) -> Tensor:
    return torch.tensor(values, requires_grad=True)


@pytest.mark.claim(98)
def test_in_place_on_a_leaf_raises_and_changes_nothing() -> None:
    a = make_leaf(2.0)
    for write in (lambda: a.add_(1), lambda: a.__iadd__(1)):
        with pytest.raises(RuntimeError):
            write()
    assert a == 2 and a._version == 0


@pytest.mark.claim(99)
def test_the_leaf_can_be_used_as_before() -> None:
    a = make_leaf(2.0)
    with pytest.raises(RuntimeError):
        a.add_(1)
    (a + 1).backward()
    assert a.grad == 1


@pytest.mark.claim(100)
def test_in_place_on_a_result_rebases_its_history() -> None:
    a = make_leaf(4.0)
    b = a * 2
    b.add_(1)
    (b**2).backward()
    assert a.grad == 2 * 9 * 2


@pytest.mark.claim(101)
def test_a_changed_saved_tensor_is_noticed() -> None:
    b = make_leaf(1.0).exp()
    b.add_(1)
    with pytest.raises(RuntimeError):
        b.backward()


@pytest.mark.claim(101)
def test_data_and_numpy_are_silent() -> None:
    for write in (lambda t: t.data.add_(1), lambda t: t.detach().numpy().__iadd__(1)):
        x = make_leaf(2.0)
        h = x * 1
        y = h**2
        write(h)
        y.backward()
        assert x.grad == 6  # and 4 were right


@pytest.mark.claim(101)
def test_tensors_that_a_function_keeps_on_ctx_are_not_watched() -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x
            return x**2

        @staticmethod
        def backward(ctx, grad):
            return 2 * ctx.x * grad

    x = make_leaf(1.0)
    h = x * 1
    y = Square.apply(h)
    h.add_(10)
    y.backward()
    assert x.grad == 22  # and 2 were right


@pytest.mark.claim(102)
def test_relu_in_place_is_allowed_if_its_input_is_not_saved() -> None:
    x = torch.randn(4, 3)
    nn.Sequential(nn.Linear(3, 2), nn.ReLU(inplace=True))(x).sum().backward()
    with pytest.raises(RuntimeError):
        nn.Sequential(nn.Linear(3, 2), nn.Sigmoid(), nn.ReLU(inplace=True))(x).sum().backward()


@pytest.mark.claim(102)
def test_a_change_in_place_fails_only_if_the_result_was_saved() -> None:
    for make, fails in ((torch.exp, True), (torch.tanh, True), (torch.sigmoid, True), (lambda t: t + 1, False)):
        y = make(make_leaf(0.5, 1.0))
        y.mul_(2)
        if fails:
            with pytest.raises(RuntimeError):
                y.sum().backward()
        else:
            y.sum().backward()


@pytest.mark.claim(104)
def test_in_place_without_an_underscore() -> None:
    t = torch.zeros(3)
    memory = t.data_ptr()
    t += 1
    t[0] = 5
    torch.add(t, 1, out=t)
    assert t.data_ptr() == memory and t.tolist() == [6, 2, 2]


@pytest.mark.claim(106)
def test_data_hides_an_update_between_forward_and_backward() -> None:
    def gradient(by_data: bool) -> Tensor:
        w = make_leaf(2.0)
        y = w**2
        if by_data:
            w.data += 1
        else:
            with torch.no_grad():
                w += 1
        y.backward()
        assert w.grad is not None
        return w.grad

    assert gradient(by_data=True) == 6
    with pytest.raises(RuntimeError):
        gradient(by_data=False)


@pytest.mark.claim(107)
@pytest.mark.filterwarnings("ignore:Anomaly Detection", "ignore:Error detected in")
def test_anomaly_mode_names_a_nan() -> None:
    x = make_leaf(0.0)
    with torch.autograd.detect_anomaly(), pytest.raises(RuntimeError):
        (torch.sqrt(x) * 0).backward()


@pytest.mark.claim(108)
def test_a_graph_that_saved_nothing_can_be_walked_twice() -> None:
    x = make_leaf(1.0)
    y = x + 1
    y.backward()
    y.backward()
    assert x.grad == 2


@pytest.mark.claim(109)
def test_nodes_outlive_their_saved_tensors() -> None:
    y = make_leaf(1.0).exp()
    node = y.grad_fn
    y.backward()
    assert node is not None and node.next_functions
    with pytest.raises(RuntimeError):
        node._saved_result  # noqa: B018


@pytest.mark.claim(110)
def test_with_retain_graph_the_second_pass_adds() -> None:
    x = make_leaf(2.0)
    y = x**3
    y.backward(retain_graph=True)
    first = x.grad.item()
    y.backward()
    assert (first, x.grad.item()) == (12, 24)


@pytest.mark.claim(112)
def test_retain_graph_keeps_the_saved_tensors() -> None:
    x = torch.randn(3, requires_grad=True)
    y = x.exp()
    y.sum().backward(retain_graph=True)
    assert y.grad_fn._saved_result.shape == (3,)


@pytest.mark.claim(113)
def test_two_losses_need_no_retain_graph() -> None:
    w = make_leaf(1.0, -2.0)

    def losses() -> tuple[Tensor, Tensor]:
        shared = w.exp()
        return shared.sum(), shared.square().sum()

    grads = []
    a, b = losses()
    (a + b).backward()
    grads.append(w.grad)
    w.grad = None
    torch.autograd.backward(losses())
    grads.append(w.grad)
    w.grad = None
    losses()[0].backward()
    losses()[1].backward()
    grads.append(w.grad)
    assert torch.allclose(grads[0], grads[1]) and torch.allclose(grads[0], grads[2])
