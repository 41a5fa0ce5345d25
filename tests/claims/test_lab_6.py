"""Claims 248 to 253: corrected statements of lab 6."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


@pytest.mark.claim(248)
def test_the_padding_row_moves_by_weight_decay_and_by_a_tied_output() -> None:
    table = nn.Embedding(4, 2, padding_idx=0)
    with torch.no_grad():
        table.weight[0] = 1
    lookup = table(torch.tensor([0, 1]))
    (of_lookup,) = torch.autograd.grad(lookup.sum(), table.weight, retain_graph=True)
    (tied,) = torch.autograd.grad((lookup @ table.weight.T).sum(), table.weight)
    assert not of_lookup[0].any() and tied[0].any()
    table.weight.grad = of_lookup
    torch.optim.SGD(table.parameters(), lr=0.1, weight_decay=0.5).step()
    assert table.weight[0].tolist() == pytest.approx([0.95, 0.95])


@pytest.mark.claim(249)
def test_cross_entropy_takes_bytes_and_probabilities() -> None:
    logits = torch.tensor([[2.0, 0.0, -1.0], [0.5, 0.1, 0.3]])
    labels = torch.tensor([0, 2])
    want = F.cross_entropy(logits, labels)
    assert F.cross_entropy(logits, labels.to(torch.uint8)) == want
    assert torch.allclose(F.cross_entropy(logits, F.one_hot(labels, 3).float()), want)
    for dtype in (torch.int8, torch.int16, torch.int32, torch.float32):
        with pytest.raises(RuntimeError):
            F.cross_entropy(logits, labels.to(dtype))


def walk(make: Callable[[Sequence[Tensor]], torch.optim.Optimizer]) -> tuple[list[float], list[float]]:
    """Where an optimizer goes in the lab's valley, along and across."""
    x, y = torch.tensor(-9.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    optimizer = make([x, y])
    along, across = [x.item()], [y.item()]
    for _ in range(40):
        optimizer.zero_grad()
        (0.01 * x**2 + y**2).backward()
        optimizer.step()
        along.append(x.item())
        across.append(y.item())
    return along, across


@pytest.mark.claim(250)
def test_sgd_changes_sides_at_every_step_and_momentum_and_adam_run_past() -> None:
    sgd, sgd_across = walk(lambda two: torch.optim.SGD(two, lr=0.9))
    momentum, momentum_across = walk(lambda two: torch.optim.SGD(two, lr=0.9, momentum=0.9))
    adam, _ = walk(lambda two: torch.optim.Adam(two, lr=0.9))
    sides = [a * b < 0 for a, b in pairwise(sgd_across)]
    assert sides == [True] * 40 and sgd[-1] < -4
    assert abs(sgd_across[39]) < 0.001 and 0.3 < abs(momentum_across[39]) < 0.4
    assert 2.4 < max(momentum) < 2.5 and abs(momentum[-1]) < 0.3
    assert 2.4 < max(adam) < 2.5 and abs(adam[-1]) < abs(sgd[-1])


@pytest.mark.claim(252)
def test_wrong_labels_make_the_validation_loss_rise() -> None:
    digits = load_digits()
    order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(0))
    images, classes = torch.tensor(digits.data, dtype=torch.float32)[order], torch.tensor(digits.target)[order]
    images = (images - images[:1000].mean()) / images[:1000].std()
    labels = classes[:1000].clone()
    labels[::4] = (labels[::4] + 1) % 10
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    training, validation = [], []
    for _ in range(100):
        for places in torch.randperm(1000).split(100):
            optimizer.zero_grad()
            F.cross_entropy(model(images[places]), labels[places]).backward()
            optimizer.step()
        with torch.no_grad():
            training.append(F.cross_entropy(model(images[:1000]), labels).item())
            validation.append(F.cross_entropy(model(images[1000:1397]), classes[1000:1397]).item())
    assert training[-1] < 0.5 * min(training[:20]) and validation[-1] > 1.5 * min(validation)


@pytest.mark.claim(253)
def test_a_loader_draws_its_order_when_an_epoch_begins() -> None:
    generator = torch.Generator().manual_seed(0)
    loader = DataLoader(TensorDataset(torch.arange(8)), batch_size=2, shuffle=True, generator=generator)
    before = generator.get_state()
    reading = iter(loader)
    read = [next(reading)[0].tolist() for _ in range(2)]
    in_the_middle = generator.get_state()
    later_batches = [batch.tolist() for (batch,) in reading]
    generator.set_state(in_the_middle)
    assert [batch.tolist() for (batch,) in loader][: len(later_batches)] != later_batches
    generator.set_state(before)
    assert [batch.tolist() for (batch,) in loader] == read + later_batches
