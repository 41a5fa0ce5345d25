"""Claims 233 to 242, and 330: corrected statements of labs 1 to 3, and the script that opens lab 1."""

import re

import pytest
import torch
from torch import Tensor, nn

from tests.conftest import ROOT


@pytest.mark.claim(233)
@pytest.mark.filterwarnings("ignore:.*uint8.*")
def test_a_uint8_mask_works_in_an_index_and_in_torch_where_and_nowhere_else() -> None:
    mask, t = torch.tensor([1, 0, 1], dtype=torch.uint8), torch.tensor([1.0, 2.0, 3.0])
    assert t[mask].tolist() == [1, 3]
    assert torch.where(mask, t, torch.zeros(3)).tolist() == [1, 0, 3]
    for use in (lambda: t.masked_fill(mask, 0.0), lambda: t.masked_select(mask), lambda: t.masked_scatter(mask, t)):
        with pytest.raises(RuntimeError):
            use()


@pytest.mark.claim(234)
def test_integers_of_one_size_are_promoted_and_the_new_unsigned_ones_are_not() -> None:
    assert torch.promote_types(torch.uint8, torch.int64) == torch.int64
    assert torch.promote_types(torch.uint8, torch.int8) == torch.int16
    assert torch.promote_types(torch.float16, torch.bfloat16) == torch.float32
    for unsigned in (torch.uint16, torch.uint32, torch.uint64):
        assert (torch.ones(2, dtype=unsigned) + torch.ones(2)).dtype == torch.float32
        for other in (torch.uint8, torch.int32, torch.int64, torch.bool):
            with pytest.raises(RuntimeError):
                torch.ones(2, dtype=unsigned) + torch.ones(2, dtype=other)


@pytest.mark.claim(235)
def test_cat_wants_flat_batches() -> None:
    batches = [torch.tensor(2.0), torch.ones(2, 3), torch.ones(5)]
    with pytest.raises(RuntimeError):
        torch.cat(batches)
    assert torch.cat([batch.flatten() for batch in batches]).mean().item() == pytest.approx(13 / 12)


@pytest.mark.claim(236)
def test_one_seed_gives_one_sequence() -> None:
    torch.manual_seed(3)
    first, second = torch.rand(3), torch.rand(3)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(3), first) and not torch.equal(first, second)
    assert torch.equal(torch.rand(3, generator=torch.Generator().manual_seed(3)), first)
    assert torch.randn(3).dtype == torch.float32 and torch.randint(0, 10, (3,)).dtype == torch.int64


class Addition(nn.Module):
    """Its table is an attribute, or a buffer."""

    table: Tensor

    def __init__(self, table: Tensor, *, buffer: bool) -> None:
        super().__init__()
        if buffer:
            self.register_buffer("table", table)
        else:
            self.table = table

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table


@pytest.mark.claim(237)
def test_a_cast_does_not_find_a_tensor_that_is_only_an_attribute() -> None:
    plain = Addition(torch.ones(3), buffer=False)
    assert plain.double()(torch.zeros(2, 3, dtype=torch.float64)).dtype == torch.float64
    assert isinstance(vars(plain)["table"], Tensor)
    with pytest.raises(RuntimeError):
        plain.to("meta")(torch.zeros(2, 3, device="meta"))


@pytest.mark.claim(237)
def test_a_cast_finds_a_buffer_and_leaves_its_integers() -> None:
    buffer = Addition(torch.ones(3, dtype=torch.int64), buffer=True)
    assert buffer.double().table.dtype == torch.int64
    assert "table" not in vars(buffer)
    assert buffer.to("meta").table.is_meta


@pytest.mark.claim(237)
def test_indices_on_the_cpu_select_from_another_device() -> None:
    indices = torch.tensor([0, 2])  # as a tensor that did not move
    assert torch.zeros(2, 3, device="meta")[:, indices].shape == (2, 2)


@pytest.mark.claim(238)
def test_a_complex_buffer_warns_in_to_and_is_left_alone_by_double() -> None:
    z = torch.tensor([1 + 2j])
    with pytest.warns(UserWarning, match="imaginary"):
        assert Addition(z, buffer=True).to(torch.float64).table.dtype == torch.float64
    assert Addition(z, buffer=True).double().table.dtype == torch.complex64


@pytest.mark.claim(239)
def test_squares_of_float32_have_a_range() -> None:
    def distance(apart: float) -> float:
        return torch.tensor([apart]).square().sum().sqrt().item()

    assert distance(1e-25) == 0 and distance(1e20) == float("inf")
    for apart in (1e-15, 1.0, 1e15):
        assert distance(apart) == pytest.approx(apart, rel=1e-3)


@pytest.mark.claim(240)
def test_a_graph_that_kept_nothing_can_be_gone_through_twice() -> None:
    x = torch.ones(2, requires_grad=True)
    kept_nothing, kept_x = (x + 1).sum(), x.square().sum()
    kept_nothing.backward()
    kept_nothing.backward()
    assert x.grad is not None and x.grad.tolist() == [2, 2]
    kept_x.backward()
    with pytest.raises(RuntimeError):
        kept_x.backward()


@pytest.mark.claim(241)
def test_a_central_difference_is_exact_for_a_parabola() -> None:
    def slope(power: int) -> float:
        return float((2.5**power - 1.5**power) / 1)

    assert slope(2) == 4 and slope(3) != 12


@pytest.mark.claim(242)
def test_a_result_that_was_not_computed_from_the_input_has_no_gradient() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(torch.ones(2).sum(), x)


@pytest.mark.claim(330)
def test_the_script_of_lab_1_gets_better_with_each_of_its_three_corrections(capsys: pytest.CaptureFixture[str]) -> None:
    torch.set_num_threads(1)  # on a busy machine, two wait for each other
    lesson = (ROOT / "labs" / "01_tensors" / "lab.py").read_text()
    (script,) = re.findall(r"# %% scratch\n(from sklearn.*?)# %% \[markdown\]", lesson, re.DOTALL)
    for line, corrected in (
        ("", ""),
        ("(scans - 8)", "(scans.float() - 8)"),
        ("        loss.backward()", "        optimizer.zero_grad()\n        loss.backward()"),
        (", nn.Softmax(dim=1)", ""),
    ):
        assert line in script
        script = script.replace(line, corrected, 1)
        exec(script, {"torch": torch})
    first, floats, zeroed, logits = (int(text) for text in re.findall(r"(\d+)%", capsys.readouterr().out))
    assert first < 15 and 70 <= floats < zeroed < logits and logits >= 86
