"""Random states are sent after each change, whatever drew, and never twice."""

import random
from collections.abc import Callable

import numpy as np
import pytest
import torch

from autograder.rpc.frames import ProtocolError
from autograder.rpc.global_state import GlobalState
from autograder.rpc.random_states import SOURCES
from autograder.rpc.value_exchange import ValueExchange

DRAWS: dict[str, tuple[int, Callable[[], object]]] = {
    "torch": (0, lambda: torch.rand(1)),
    "torch seeded": (0, lambda: torch.manual_seed(3)),
    "random": (1, random.random),
    "random seeded": (1, lambda: random.seed(3)),
    "one Gaussian number": (1, lambda: random.gauss(0, 1)),
    "numpy": (2, lambda: np.random.rand()),
    "numpy seeded": (2, lambda: np.random.seed(3)),
    "one Gaussian number of numpy": (2, lambda: np.random.randn()),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_state_is_sent_after_each_draw_and_only_then(name: str) -> None:
    """Twice: the second Gaussian number comes from the first one's cache, and leaves the state's words unchanged."""
    source, draw = DRAWS[name]
    sender = GlobalState()
    sender.read()
    for _ in range(2):
        draw()
        is_sent = [state is not None for state in sender.read()[-1]]
        assert is_sent == [n == source for n in range(len(SOURCES))] or "seeded" in name
        assert sender.read()[-1] == [None] * len(SOURCES)


def test_a_second_gaussian_number_that_numpy_restores_is_sent() -> None:
    """The words are unchanged since it was used."""
    np.random.seed(12), np.random.randn()
    numpy_state = np.random.get_state()
    np.random.randn()
    state = GlobalState()
    state.read()
    np.random.set_state(numpy_state)
    assert state.read()[-1][2] is not None


def test_a_state_that_is_sent_makes_the_other_end_draw_the_same() -> None:
    receiver, sender = GlobalState(), GlobalState()
    random.gauss(0, 1)
    state = sender.read()
    numbers = [random.gauss(0, 1), random.random(), np.random.randn(), torch.rand(1).item()]
    receiver.apply(state)
    assert [random.gauss(0, 1), random.random(), np.random.randn(), torch.rand(1).item()] == numbers


def test_a_number_instead_of_a_state_takes_no_memory_of_that_size() -> None:
    for n in range(len(SOURCES)):
        state = GlobalState().read()
        state[-1][n] = 2**62
        with pytest.raises(ProtocolError):
            GlobalState().apply(state)
    with pytest.raises(ProtocolError):
        ValueExchange().unpack([[], ["generator", "cpu", 2**62]])
