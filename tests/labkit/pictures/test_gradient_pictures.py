"""Pictures of gradients: the steps of backward, a vector-Jacobian product, claimed slopes, saliency maps."""

import re

import pytest
import torch
from torch import Tensor

from labkit import show_backward, show_saliency, show_straight_through, show_vjp


def make_small_graph() -> tuple[Tensor, dict[str, Tensor]]:
    left, right = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    product = left * right
    return product * product + right, {"left": left, "right": right, "product": product}


def test_each_node_waits_for_all_that_arrives_and_adds_it_up() -> None:
    output, names = make_small_graph()
    lines = show_backward(output, names).words.splitlines()
    assert lines[0] == "forward: left = 2, product = 6, MulBackward0 = 36, right = 3, result = 39"
    assert "product: gets 6 + 6 = 12, sends 36 to left, 24 to right" in lines
    assert set(lines[-2:]) == {"left: its gradient is 36", "right: its gradient is 1 + 24 = 25"}


def test_there_is_a_frame_for_the_forward_pass_and_one_for_each_node() -> None:
    drawing = show_backward(*make_small_graph()).drawing
    assert drawing is not None and drawing.groups[0].steps
    assert list(drawing.groups[0].labels)[:2] == ["forward", "result"] and len(drawing.words) == 6
    assert drawing.caption and "its gradient is" in drawing.words[-1]


def test_gradients_travel_along_the_edges_of_their_node_and_rest_there() -> None:
    drawing = show_backward(*make_small_graph()).drawing
    assert drawing is not None
    sent = {
        int(part.split("'")[1]): re.findall(r"data-route='M([\d.]+) .*?translate\(([\d.]+) .*?>([^<]*)</text>", part)
        for part in drawing.parts
        if "data-route" in part
    }
    assert [text for _, _, text in sent[2]] == ["6", "6"]  # the product's square sends two gradients
    assert [text for _, _, text in sent[3]] == ["36", "24"]
    assert all(float(start) < float(end) for labels in sent.values() for start, end, _ in labels)


def test_backward_is_drawn_without_changing_anything() -> None:
    output, names = make_small_graph()
    show_backward(output, names)
    assert all(t.grad is None for t in (names["left"], names["right"]))
    output.backward()
    assert names["left"].grad == 36


@pytest.mark.parametrize("output", [torch.ones(2, requires_grad=True) * 2, torch.tensor(1.0)])
def test_an_output_without_its_own_backward_pass_becomes_words(output: Tensor) -> None:
    assert "no picture" in show_backward(output, {}).words


def test_a_vector_jacobian_product_is_autograds() -> None:
    x, v = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 0.5])
    picture = show_vjp(lambda t: torch.stack([t[0] * t[1], t[1] * t[2]]), x, v)
    assert picture.words.splitlines() == [
        "row 0 of J: [2, 1, 0]",
        "row 1 of J: [0, 3, 2]",
        "v = [1, 0.5]",
        "entry 0: 1 * 2 + 0.5 * 0 = 2",
        "entry 1: 1 * 1 + 0.5 * 3 = 2.5",
        "entry 2: 1 * 0 + 0.5 * 2 = 1",
    ]
    assert "v @ J" in picture.first_frame and x.grad is None
    assert "no picture" in show_vjp(lambda t: t, torch.ones(9), torch.ones(9)).words


def test_a_claimed_slope_is_that_of_backward() -> None:
    picture = show_straight_through({"round": torch.round, "through": lambda x: x + (x.round() - x).detach()})
    assert picture.words.splitlines()[0].endswith("gradients from 0 to 0")
    assert picture.words.splitlines()[1].endswith("gradients from 1 to 1")
    drawing = picture.drawing
    assert drawing is not None and len(drawing.words) == 2 * len(drawing.groups[1].labels)
    assert drawing.words[-1] == "through: at x = 2 the value is 2, the gradient 1"


def test_a_saliency_map_says_where_it_is_largest() -> None:
    image, gradient = torch.rand(4, 5, generator=torch.Generator().manual_seed(0)), torch.zeros(4, 5)
    gradient[2, 3] = -1.5
    picture = show_saliency({"a": image}, {"a": gradient})
    assert picture.words == "a: the largest gradient is -1.5, at row 2, column 3"
    assert picture.first_frame.count("<rect") == 2
    assert "no picture" in show_saliency({"a": image}, {"a": gradient.T}).words
    assert "nothing to draw yet" in show_saliency({}, {}).words
