"""Pictures show what is there, with and without Graphviz, and never hide a verdict."""

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labkit import show_graph, show_strides
from labkit.pictures.strides import slots_of
from tests.conftest import need

PNG = b"\x89PNG\r\n\x1a\n"


def expression() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return (x * x + x).sum(), x


def test_the_graph_is_drawn_by_dot_where_it_is_installed() -> None:
    need("dot")
    out, x = expression()
    picture = show_graph(out, {"x": x})
    assert picture.drawing.startswith("<?xml")
    assert "SumBackward0" in picture.drawing


def test_the_graph_is_drawn_without_dot_too_and_says_the_same_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    out, x = expression()
    with_dot = show_graph(out, {"x": x})
    monkeypatch.setenv("PATH", "")
    without_dot = show_graph(out, {"x": x})
    assert isinstance(without_dot.drawing, bytes) and without_dot.drawing.startswith(PNG)
    assert without_dot.words == with_dot.words
    assert "AddBackward0 -> x (2,)" in without_dot.words
    assert without_dot.words.count("MulBackward0 -> x (2,)") == 2


def test_arrows_lead_from_the_result_to_the_leaves_in_both_drawings() -> None:
    need("dot")
    out, x = expression()
    svg = show_graph(out, {"x": x}).drawing
    titles = re.findall(r"<title>(\d+)&#45;&gt;(\d+)</title>", svg)
    starts, ends = {a for a, _ in titles}, {b for _, b in titles}
    (leaf,) = re.findall(r"<title>(\d+)</title>(?:(?!</g>).)*> *x<", svg, re.DOTALL)
    assert leaf in ends - starts


def test_a_tensor_without_history_is_said_to_have_none() -> None:
    assert "no graph" in repr(show_graph(torch.ones(2)))


def test_a_graph_that_shares_its_nodes_is_walked_once() -> None:
    z = torch.ones(1, requires_grad=True)
    for _ in range(60):
        z = z + z
    words = show_graph(z).words
    assert len(words.splitlines()) == 120


def test_what_cannot_be_drawn_becomes_words_and_no_exception() -> None:
    for picture in (
        show_graph(None),
        show_strides("text"),
        show_strides(torch.ones(2, 2, 2)),
        show_strides(torch.ones(99)),
    ):  # type: ignore[arg-type]
        assert "no picture" in repr(picture)
        assert picture._repr_mimebundle_()["text/plain"]


def test_strides_are_drawn_with_the_storage_below() -> None:
    t = torch.arange(12.0).reshape(3, 4).t()[1:3]
    picture = show_strides(t)
    assert picture.drawing.startswith(PNG)
    assert picture.words == "shape (2, 3), strides (1, 4), offset 1, storage of 12 elements"


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.bfloat16, torch.complex64, torch.float64])
def test_any_dtype_is_drawn(dtype: torch.dtype) -> None:
    assert show_strides(torch.tensor([[1, 0], [0, 1]]).to(dtype)).drawing.startswith(PNG)


def test_expanded_and_empty_tensors_are_drawn() -> None:
    assert show_strides(torch.ones(3, 1).expand(3, 4)).drawing.startswith(PNG)
    assert show_strides(torch.empty(0)).drawing.startswith(PNG)


@given(st.integers(1, 4), st.integers(1, 5), st.booleans(), st.integers(0, 3), st.integers(1, 3))
def test_slots_name_the_element_that_the_tensor_reads(
    rows: int, columns: int, turned: bool, start: int, step: int
) -> None:
    base = torch.arange(rows * columns * 2).reshape(rows, columns * 2)
    t = (base.T if turned else base)[:, start::step]
    assert slots_of(t) == t.tolist()


def test_drawing_leaves_pyplot_alone() -> None:
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    show_strides(torch.arange(4))
    assert plt.get_fignums() == before


def test_the_same_expression_gives_the_same_picture_wherever_it_lies_in_memory() -> None:
    need("dot")
    kept = [expression() for _ in range(2)]
    first, second = (show_graph(out, {"x": x}).drawing for out, x in kept)
    assert first == second
