"""Claims 114 to 130: the training loop, modules, parameters and buffers."""

import copy
import itertools

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn


@pytest.mark.claim(114)
def test_the_usual_loop_learns() -> None:
    x = torch.randn(32, 3, generator=torch.Generator().manual_seed(0))
    y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
    model, losses = nn.Linear(3, 1), []
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model.train()
    for _ in range(50):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.01 * losses[0]


@pytest.mark.claim(115)
def test_the_mean_of_batch_means_is_not_the_mean() -> None:
    values = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 90.0, 100.0])
    means = torch.stack([batch.mean() for batch in values.split(4)])
    assert means.mean() != values.mean()


@pytest.mark.claim(118)
def test_forward_step_zero_backward_trains_one_step_late() -> None:
    def losses(late: bool) -> list[float]:
        w = nn.Parameter(torch.tensor([1.0]))
        optimizer, values = torch.optim.SGD([w], 0.1), []
        for _ in range(4):
            loss = (3 * w).sum()
            if late:
                optimizer.step()
            optimizer.zero_grad()
            loss.backward()
            if not late:
                optimizer.step()
            values.append(round(loss.item(), 4))
        return values

    assert losses(late=False) == [3.0, 2.1, 1.2, 0.3] and losses(late=True) == [3.0, 3.0, 2.1, 1.2]


@pytest.mark.claim(119)
def test_a_linear_layer_registers_weight_and_bias() -> None:
    layer = nn.Linear(20, 10)
    assert {name: tuple(p.shape) for name, p in layer.named_parameters()} == {"weight": (10, 20), "bias": (10,)}
    assert sum(p.numel() for p in layer.parameters()) == 210
    assert not issubclass(torch.export.ExportedProgram, nn.Module)


def make_mlp() -> nn.Sequential:
    layers: list[nn.Module] = []
    sizes = [784, 512, 256]
    for a, b in itertools.pairwise(sizes):
        layers += [nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU(), nn.Dropout(0.3)]
    return nn.Sequential(*layers, nn.Linear(256, 10))


@pytest.mark.claim(120)
def test_the_mlp_of_the_source_has_537354_parameters_and_refuses_one_sample_in_training() -> None:
    model = make_mlp()
    assert model(torch.randn(32, 784)).shape == (32, 10)
    assert sum(p.numel() for p in model.parameters()) == 537_354 and len(model.state_dict()) == 16
    with pytest.raises(ValueError):
        model(torch.randn(1, 784))
    assert model.eval()(torch.randn(1, 784)).shape == (1, 10)


@pytest.mark.claim(121)
def test_parameters_counts_a_tied_weight_once_and_state_dict_twice() -> None:
    first, second = nn.Linear(4, 10, bias=False), nn.Linear(4, 10, bias=False)
    second.weight = first.weight
    both = nn.ModuleList([first, second])
    assert sum(p.numel() for p in both.parameters()) == 40
    assert sum(t.numel() for t in both.state_dict().values()) == 80


@pytest.mark.claim(122)
def test_softmax_before_cross_entropy_hides_a_sure_answer() -> None:
    logits, label = torch.tensor([[10.0, 0.0]]), torch.tensor([0])
    assert F.cross_entropy(logits, label) < 1e-4
    assert F.cross_entropy(logits.softmax(-1), label) == pytest.approx(0.3133, abs=1e-4)


@pytest.mark.claim(122)
def test_an_lstm_state_has_its_layers_first_whatever_batch_first_says() -> None:
    out, (h, _) = nn.LSTM(3, 5, num_layers=2, batch_first=True)(torch.randn(4, 7, 3))
    assert out.shape == (4, 7, 5) and h.shape == (2, 4, 5)


@pytest.mark.claim(122)
def test_the_padding_row_of_an_embedding_learns_nothing() -> None:
    table = nn.Embedding(3, 2, padding_idx=0)
    table(torch.tensor([0, 1])).sum().backward()
    assert table.weight.grad[0].tolist() == [0, 0] and table.weight.grad[1].tolist() == [1, 1]


@pytest.mark.claim(124)
def test_a_module_needs_super_init() -> None:
    class Forgot(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError):
        Forgot()


class TableModule(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("scratch", torch.zeros(2), persistent=False)
        self.register_buffer("steps", torch.tensor(0))
        self.plain = torch.zeros(2)
        self.hidden = [nn.Linear(1, 1)]


@pytest.mark.claim(125, 126, 127)
def test_attributes_are_parameters_buffers_or_neither() -> None:
    table = TableModule()
    assert [name for name, _ in table.named_parameters()] == ["weight"]
    assert set(table.state_dict()) == {"weight", "mean", "steps"}
    table.half()
    assert table.weight.dtype == table.mean.dtype == table.scratch.dtype == torch.float16
    assert table.steps.dtype == torch.int64 and table.plain.dtype == torch.float32
    assert table.hidden[0].weight.dtype == torch.float32


@pytest.mark.claim(128)
def test_a_batch_norm_saves_its_statistics() -> None:
    assert {"weight", "running_mean"} <= set(nn.BatchNorm1d(3).state_dict())


@pytest.mark.claim(129)
def test_a_buffer_assigned_from_the_graph_grows_it() -> None:
    mean, w = torch.zeros(2), nn.Parameter(torch.ones(2))
    for _ in range(3):
        mean = 0.9 * mean + 0.1 * (w * 2)
    assert mean.requires_grad

    def depth(t: Tensor) -> int:
        node, length = t.grad_fn, 0
        while node is not None:
            length, node = length + 1, node.next_functions[0][0]
        return length

    longer = 0.9 * mean + 0.1 * (w * 2)
    assert depth(longer) > depth(mean)


@pytest.mark.claim(130)
def test_tying_through_data_makes_two_parameters() -> None:
    a, b = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)
    b.weight.data = a.weight.data
    both = nn.ModuleList([a, b])
    assert len(list(both.parameters())) == 2
    both.to(torch.float64)
    with torch.no_grad():
        a.weight.add_(1)
    assert not torch.equal(a.weight, b.weight)
    assert not torch.equal(copy.deepcopy(a).weight, b.weight)
