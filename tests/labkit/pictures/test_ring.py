"""The ring's picture: it draws an all-reduce, and its words describe it without a picture."""

import itertools

import pytest

from labkit.pictures.ring import compute_ring_states, explore_ring
from labkit.pictures.traffic import show_traffic


@pytest.mark.parametrize("world_size", [2, 3, 4, 8])
def test_the_states_are_a_ring_all_reduce(world_size: int) -> None:
    states = compute_ring_states(world_size)
    all_ranks = set(range(world_size))
    assert len(states) == 2 * world_size - 1
    for (before, _), (after, transfers) in itertools.pairwise(states):
        assert sorted(transfers) == list(range(world_size))  # each chunk is sent by one rank
        for rank, chunk in enumerate(transfers):
            to = (rank + 1) % world_size
            assert after[to][chunk] == before[to][chunk] | before[rank][chunk]
    half, end = states[world_size - 1][0], states[-1][0]
    assert all(sum(parts == all_ranks for parts in row) == 1 for row in half)
    assert all(parts == all_ranks for row in end for parts in row)


def test_a_ring_has_words_and_drawings() -> None:
    ring = explore_ring(3)
    assert "start:    0 of 9 chunks are complete" in repr(ring) and "step 4:   9 of 9" in repr(ring)
    assert "step 1:   0 of 9 chunks are complete; rank 0 sends chunk 0, rank 1 sends chunk 1, rank 2" in repr(ring)
    (steps,) = ring.drawing.groups  # type: ignore[union-attr]
    assert steps.steps and list(steps.labels) == ["start", "step 1", "step 2", "step 3", "step 4"]
    traffic = show_traffic([2, 16])
    assert "16 ranks: ring 1.875, one rank collects 15" in repr(traffic)
    assert "one rank collects" in traffic.first_frame


@pytest.mark.parametrize("world_size", [0, 1, 9])
def test_a_ring_that_cannot_be_drawn_becomes_a_message(world_size: int) -> None:
    assert "no picture" in repr(explore_ring(world_size))
