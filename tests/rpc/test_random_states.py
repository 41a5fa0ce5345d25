"""A state of random numbers from the student's side never makes the grader read outside a generator's memory."""

import struct

import pytest
import torch

from autograder.rpc.frames import ProtocolError
from autograder.rpc.random_states import apply_torch_state, read_torch_state, set_torch_state


def change_state(left: int, following: int) -> bytes:
    state = bytearray(torch.Generator().manual_seed(5).get_state().numpy().tobytes())
    struct.pack_into("<QiiQ", state, 0, 5, left, 1, following)
    return bytes(state)


@pytest.mark.parametrize(
    "left, following", [(624, 624), (300, 624), (624, 400), (625, 0), (1, 625), (0, 0), (-1, 3), (2, 2**63)]
)
def test_counters_that_do_not_belong_together_are_refused(left: int, following: int) -> None:
    before = read_torch_state()
    with pytest.raises(ProtocolError):
        set_torch_state(change_state(left, following))
    state = torch.frombuffer(bytearray(change_state(left, following)), dtype=torch.uint8)
    with pytest.raises(ProtocolError):
        apply_torch_state(torch.Generator(), state)
    assert read_torch_state() == before


@pytest.mark.parametrize("drawn", [0, 1, 2, 623, 624, 625])
def test_a_state_that_torch_gave_is_taken(drawn: int) -> None:
    source, target = torch.Generator().manual_seed(5), torch.Generator()
    torch.rand(drawn, generator=source)
    apply_torch_state(target, source.get_state())
    assert torch.equal(torch.rand(9, generator=target), torch.rand(9, generator=source))
