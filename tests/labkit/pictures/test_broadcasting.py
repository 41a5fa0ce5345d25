"""The picture of broadcasting agrees with PyTorch, and has room for any input."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from labkit import explore_broadcasting, show_broadcasting
from labkit.pictures.broadcasting import MAX_DIMS

SHAPES = st.lists(st.sampled_from([0, 1, 1, 2, 3]), max_size=4)


def read_last_line(*shapes: tuple[int, ...]) -> list[str]:
    lines = show_broadcasting(*shapes).words.splitlines()
    return next(line for line in lines if line.startswith("result")).split()[1:]


@given(st.lists(SHAPES, min_size=2, max_size=4))
def test_the_result_is_pytorchs(shapes: list[list[int]]) -> None:
    try:
        want = [str(n) for n in torch.broadcast_shapes(*shapes)]
    except RuntimeError:
        assert "X" in read_last_line(*shapes)
    else:
        assert read_last_line(*shapes) == want


def test_broadcasting_is_drawn_with_a_fit_and_with_a_conflict() -> None:
    for shapes in (((4, 1), (3,)), ((2, 3), (2,)), ((), ()), ((5, 1, 4), (3, 1), (1,))):
        assert show_broadcasting(*shapes).first_frame.startswith("<svg")
    assert "do not fit" in show_broadcasting((2, 3), (2,)).words


def test_shapes_that_cannot_be_drawn_become_words() -> None:
    for shapes in ([], [(1,)], [(1,)] * 5, [(1,) * 7, (1,)]):
        assert "no picture" in repr(show_broadcasting(*shapes))


def test_the_explorer_has_room_for_every_input_and_begins_as_the_static_picture() -> None:
    explorer, still = explore_broadcasting((4, 1), (3,)), show_broadcasting((4, 1), (3,))
    assert repr(explorer) == still.words
    for row in ("0", "1", "result"):
        for column in range(MAX_DIMS):
            assert f"data-cell='{row} {column}'" in explorer.first_frame
    assert explorer.drawing is not None and explorer.drawing.data["shapes"] == [[4, 1], [3]]
