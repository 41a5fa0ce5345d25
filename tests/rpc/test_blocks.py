"""The block that holds a range of memory is found, at once even among thousands."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.rpc.blocks import Block, Index
from autograder.rpc.value_exchange import ValueExchange

PLACE = st.tuples(st.integers(0, 30), st.integers(0, 8), st.sampled_from(["cpu", "cuda:0"]))


@given(st.lists(PLACE, max_size=8), PLACE)
def test_the_first_block_that_holds_the_bytes_is_found(places: list[tuple[int, int, str]], wanted: tuple) -> None:
    blocks = [Block(*place) for place in places]
    expected = next((n for n, block in enumerate(blocks) if block.has_bytes(*wanted)), -1)
    assert Index(blocks).find(*wanted) == expected


def test_a_block_whose_storage_was_resized_holds_nothing() -> None:
    t = torch.ones(4)
    storage = t.untyped_storage()
    block = Block(storage.data_ptr(), 16, "cpu", storage)
    assert Index([block]).find(block.address, 16, "cpu") == 0
    storage.resize_(1 << 20)
    assert Index([block]).find(block.address, 16, "cpu") == -1


def test_a_tensor_takes_no_longer_to_find_among_many(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    has_bytes = Block.has_bytes

    def counted(block: Block, address: int, nbytes: int, device: str) -> bool:
        nonlocal looks
        looks += 1
        return has_bytes(block, address, nbytes, device)

    monkeypatch.setattr(Block, "has_bytes", counted)
    exchange = ValueExchange()
    exchange.pack([torch.ones(3) for _ in range(400)])
    exchange.pack([torch.ones(3) for _ in range(400)])
    assert looks <= 3 * 800
