"""The picture of broadcasting says what PyTorch does, and its widgets follow what is typed."""

import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labkit import explore_broadcasting, show_broadcasting
from labkit.pictures.broadcasting import shape_of

PNG = b"\x89PNG\r\n\x1a\n"
SHAPES = st.lists(st.sampled_from([0, 1, 1, 2, 3]), max_size=4)


def last_line(*shapes: tuple[int, ...]) -> list[str]:
    lines = show_broadcasting(*shapes).words.splitlines()
    return next(line for line in lines if line.startswith("result")).split()[1:]


@given(st.lists(SHAPES, min_size=2, max_size=4))
def test_the_result_is_pytorchs(shapes: list[list[int]]) -> None:
    try:
        want = [str(n) for n in torch.broadcast_shapes(*shapes)]
    except RuntimeError:
        assert "X" in last_line(*shapes)
    else:
        assert last_line(*shapes) == want


def test_it_is_drawn_with_a_fit_and_with_a_conflict() -> None:
    for shapes in (((4, 1), (3,)), ((2, 3), (2,)), ((), ()), ((5, 1, 4), (3, 1), (1,))):
        assert show_broadcasting(*shapes).drawing.startswith(PNG)
    assert "do not fit" in show_broadcasting((2, 3), (2,)).words


def test_too_much_becomes_words() -> None:
    for shapes in ([], [(1,)], [(1,)] * 5, [(1,) * 7, (1,)]):
        assert "no picture" in repr(show_broadcasting(*shapes))


def test_shapes_are_read_as_people_type_them() -> None:
    for text in ("4, 1", "(4, 1)", "4 1", " 4,1, "):
        assert shape_of(text) == (4, 1)
    assert shape_of("") == shape_of("()") == ()
    for text in ("a", "-1", "4.5", "1000", "1 1 1 1 1 1 1"):
        with pytest.raises(ValueError):
            shape_of(text)


def test_the_widgets_follow_what_is_typed() -> None:
    box = explore_broadcasting((4, 1), (3,)).widgets()
    (a, b), words, drawing = box.children[0].children, box.children[1], box.children[2]
    first = bytes(drawing.value)
    assert first.startswith(PNG) and words.value == ""
    a.value = "2, 3"
    assert bytes(drawing.value).startswith(PNG) and bytes(drawing.value) != first
    b.value = "three"
    assert "Write a shape" in words.value
    b.value = "3"
    assert words.value == ""


def test_without_a_kernel_or_without_ipywidgets_it_is_the_still_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = explore_broadcasting()
    still = show_broadcasting((4, 1), (3,))
    assert explorer._repr_mimebundle_() == still._repr_mimebundle_()
    assert repr(explorer) == still.words

    class Shell:
        @staticmethod
        def get_ipython() -> object:
            return object()

    monkeypatch.setitem(sys.modules, "IPython", Shell)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert explorer._repr_mimebundle_() == still._repr_mimebundle_()
