"""Claims 233 to 236: what labs 1 to 3 of this course said, corrected."""

import pytest
import torch


@pytest.mark.filterwarnings("ignore:.*uint8.*")
def test_233_a_uint8_mask_works_in_an_index_and_in_where_and_nowhere_else() -> None:
    mask, t = torch.tensor([1, 0, 1], dtype=torch.uint8), torch.tensor([1.0, 2.0, 3.0])
    assert t[mask].tolist() == [1, 3]
    assert torch.where(mask, t, torch.zeros(3)).tolist() == [1, 0, 3]
    for use in (lambda: t.masked_fill(mask, 0.0), lambda: t.masked_select(mask), lambda: t.masked_scatter(mask, t)):
        with pytest.raises(RuntimeError):
            use()


def test_234_integers_of_one_size_are_promoted_and_the_new_unsigned_ones_are_not() -> None:
    assert torch.promote_types(torch.uint8, torch.int64) == torch.int64
    assert torch.promote_types(torch.uint8, torch.int8) == torch.int16
    assert torch.promote_types(torch.float16, torch.bfloat16) == torch.float32
    for unsigned in (torch.uint16, torch.uint32, torch.uint64):
        assert (torch.ones(2, dtype=unsigned) + torch.ones(2)).dtype == torch.float32
        for other in (torch.uint8, torch.int32, torch.int64, torch.bool):
            with pytest.raises(RuntimeError):
                torch.ones(2, dtype=unsigned) + torch.ones(2, dtype=other)


def test_235_cat_wants_flat_batches() -> None:
    batches = [torch.tensor(2.0), torch.ones(2, 3), torch.ones(5)]
    with pytest.raises(RuntimeError):
        torch.cat(batches)
    assert torch.cat([batch.flatten() for batch in batches]).mean().item() == pytest.approx(13 / 12)


def test_236_one_seed_gives_one_sequence() -> None:
    torch.manual_seed(3)
    first, second = torch.rand(3), torch.rand(3)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(3), first) and not torch.equal(first, second)
    assert torch.equal(torch.rand(3, generator=torch.Generator().manual_seed(3)), first)
    assert torch.randn(3).dtype == torch.float32 and torch.randint(0, 10, (3,)).dtype == torch.int64
