"""Pictures show tensors and graphs as they are, and never hide a verdict."""

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labkit import show_graph, show_strides
from labkit.pictures.graph_layout import compute_layout, compute_sideways_layout, fit_layout
from labkit.pictures.graph_route import APART, HEAD, compute_routes
from labkit.pictures.strides import find_slots


def make_expression() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return (x * x + x).sum(), x


def test_the_graph_is_drawn_with_its_result_its_nodes_and_its_leaves() -> None:
    out, x = make_expression()
    picture = show_graph(out, {"x": x})
    for label in ("result ()", "SumBackward0", "MulBackward0", "AccumulateGrad", "x (2,)"):
        assert f">{label}</text>" in picture.first_frame
    assert "AddBackward0 -> x (2,)" in picture.words
    assert picture.words.count("MulBackward0 -> x (2,)") == 2


def test_boxes_are_below_their_predecessors_and_next_to_each_other() -> None:
    widths = {0: 50.0, 1: 90.0, 2: 60.0, 3: 40.0}
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3), (2, 3)]
    layout = compute_layout(widths, edges)
    assert all(layout.boxes[a][1] < layout.boxes[b][1] for a, b in edges)
    (xa, ya), (xb, yb) = layout.boxes[1], layout.boxes[2]
    assert ya == yb and abs(xa - xb) > (widths[1] + widths[2]) / 2
    assert [len(route) for route in layout.routes] == [2, 2, 2, 2, 3, 2]


def test_a_graph_with_room_leads_to_the_right_without_touching_boxes() -> None:
    sizes = {0: (50.0, 30.0), 1: (90.0, 30.0), 2: (60.0, 30.0), 3: (40.0, 30.0)}
    edges = [(0, 1), (0, 2), (1, 3), (2, 3)]
    layout = compute_sideways_layout(sizes, edges, 20)
    for a, b in edges:
        assert layout.boxes[b][0] - layout.boxes[a][0] >= (sizes[a][0] + sizes[b][0]) / 2 + 20
    assert layout.boxes[1][0] == layout.boxes[2][0] and abs(layout.boxes[1][1] - layout.boxes[2][1]) > 30
    assert layout.width == 50 + 20 + 90 + 20 + 40
    spread = fit_layout(layout, 400, 1.5)
    assert spread.width == 400
    assert spread.boxes[3][0] - spread.boxes[0][0] == pytest.approx(1.5 * (layout.boxes[3][0] - layout.boxes[0][0]))
    assert spread.boxes[0][0] > sizes[0][0] / 2 and spread.boxes[3][0] < 400 - sizes[3][0] / 2


def test_routes_of_parallel_edges_are_apart_and_end_at_the_box() -> None:
    layout = compute_sideways_layout({0: (50.0, 30.0), 1: (90.0, 30.0)}, [(0, 1), (0, 1)], 60)
    first, second = compute_routes(layout, [(0, 1), (0, 1)], {0: 25.0, 1: 45.0}, sideways=True)
    assert first.curves[0][0][0] == 50 and first.curves[-1][3][0] == 110 - HEAD
    assert second.curves[0][0][1] - first.curves[0][0][1] == APART
    assert first.half[1][0] == pytest.approx((50 + 110 - HEAD) / 2)


def test_a_tensor_without_history_is_said_to_have_none() -> None:
    assert "no graph" in repr(show_graph(torch.ones(2)))


def test_a_graph_that_shares_its_nodes_is_walked_once() -> None:
    z = torch.ones(1, requires_grad=True)
    for _ in range(60):
        z = z + z
    words = show_graph(z).words
    assert len(words.splitlines()) == 120


def test_an_object_that_cannot_be_drawn_becomes_words_and_no_exception() -> None:
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
    assert picture.first_frame.startswith("<svg")
    assert picture.words == "shape (2, 3), strides (1, 4), offset 1, storage of 12 elements"


def test_an_element_and_the_slot_that_it_reads_have_the_same_number() -> None:
    t = torch.arange(10, 16).as_strided((3, 2), (1, 1))
    labels = re.findall(r"data-slot='(\d+)' data-label='([^']*)'", show_strides(t).first_frame)
    assert labels[2:4] == [("1", "element (1, 0): 11, read from slot 1"), ("2", "element (1, 1): 12, read from slot 2")]
    assert labels[7:] == [
        ("1", "slot 1: 11, read by 2 elements"),
        ("2", "slot 2: 12, read by 2 elements"),
        ("3", "slot 3: 13, read by one element"),
        ("4", "slot 4: 14, read by no element"),
        ("5", "slot 5: 15, read by no element"),
    ]


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.bfloat16, torch.complex64, torch.float64])
def test_any_dtype_is_drawn(dtype: torch.dtype) -> None:
    assert show_strides(torch.tensor([[1, 0], [0, 1]]).to(dtype)).first_frame.startswith("<svg")


def test_expanded_and_empty_tensors_are_drawn() -> None:
    assert show_strides(torch.ones(3, 1).expand(3, 4)).first_frame.startswith("<svg")
    assert show_strides(torch.empty(0)).first_frame.startswith("<svg")


@given(st.integers(1, 4), st.integers(1, 5), st.booleans(), st.integers(0, 3), st.integers(1, 3))
def test_slots_name_the_element_that_the_tensor_reads(
    rows: int, columns: int, turned: bool, start: int, step: int
) -> None:
    base = torch.arange(rows * columns * 2).reshape(rows, columns * 2)
    t = (base.T if turned else base)[:, start::step]
    assert find_slots(t) == t.tolist()


def test_drawing_leaves_pyplot_alone() -> None:
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    show_strides(torch.arange(4))
    assert plt.get_fignums() == before


def test_the_same_expression_gives_the_same_picture_wherever_it_is_in_memory() -> None:
    expressions = [make_expression() for _ in range(2)]
    first, second = (show_graph(out, {"x": x}).html for out, x in expressions)
    assert first == second
