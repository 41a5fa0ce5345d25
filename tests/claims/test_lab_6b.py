"""Claims 255 to 258: corrected statements of labs 5, 6b and 6c."""

import pdb

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset


@pytest.mark.claim(255)
def test_post_mortem_wants_an_exception_that_is_being_handled() -> None:
    with pytest.raises(ValueError):
        pdb.post_mortem()


@pytest.mark.claim(256)
@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.RReLU(), (50,)),
        (nn.AlphaDropout(), (50,)),
        (nn.InstanceNorm2d(3, track_running_stats=True), (2, 3, 5, 4)),
        (nn.LSTM(3, 3, num_layers=2, dropout=0.5), (5, 2, 3)),
    ],
)
def test_eval_changes_more_layers_than_batch_norm_and_dropout(layer: nn.Module, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape)

    def first(out: Tensor | tuple[Tensor, ...]) -> Tensor:
        return out[0] if isinstance(out, tuple) else out

    assert not torch.equal(first(layer.train()(x)), first(layer.eval()(x)))


class NeedsTwoError(Exception):
    def __init__(self, place: int, reason: str) -> None:
        super().__init__(f"{place}: {reason}")


class FailingDataset(Dataset[Tensor]):
    def __init__(self, error: Exception) -> None:
        self.error = error

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> Tensor:
        raise self.error


@pytest.mark.claim(257)
@pytest.mark.parametrize(
    ("error", "arrives"), [(ValueError("x"), ValueError), (NeedsTwoError(0, "broken"), RuntimeError)]
)
def test_a_workers_exception_keeps_its_type_if_a_message_can_make_it(
    error: Exception, arrives: type[Exception]
) -> None:
    with pytest.raises(arrives, match="in DataLoader worker process 0"):
        list(DataLoader(FailingDataset(error), num_workers=1, multiprocessing_context="fork"))


@pytest.mark.claim(258)
def test_a_node_may_keep_its_own_tensors() -> None:
    node, attribute = torch.tensor([1.0, 3.0], requires_grad=True).max(0).values.grad_fn, "_saved_indices"
    assert getattr(node, attribute).tolist() == 1
