"""The playground network: its derivatives, its words and its static form."""

import math
import re

import pytest

from labkit.pictures.playground import LABEL, START, compute_pass, format_loss, play_network


def compute_by_hand(inputs: tuple[float, float], target: float, p: dict[str, float]) -> float:
    hidden = [math.tanh(p[f"w1{j}"] * inputs[0] + p[f"w2{j}"] * inputs[1] + p[f"b{j}"]) for j in (1, 2, 3)]
    return (sum(p[f"v{j}"] * h for j, h in enumerate(hidden, 1)) + p["c"] - target) ** 2 / 2


def test_the_loss_and_its_derivatives_are_right() -> None:
    inputs, target = (0.7, -1.3), 0.4
    p = compute_pass(inputs, target, START)
    assert math.isclose(p.loss, compute_by_hand(inputs, target, START), rel_tol=1e-12)
    for name in START:
        up, down = ({**START, name: START[name] + d} for d in (1e-6, -1e-6))
        slope = (compute_by_hand(inputs, target, up) - compute_by_hand(inputs, target, down)) / 2e-6
        assert math.isclose(p.gradients[name], slope, rel_tol=1e-5, abs_tol=1e-8), name
    assert math.isclose(p.gradients["result"], p.result - target)


def test_an_input_of_zero_gives_its_weights_no_gradient() -> None:
    gradients = compute_pass((0.0, 1.0), 2.0, START).gradients
    assert [gradients[f"w1{j}"] for j in (1, 2, 3)] == [0, 0, 0]
    assert all(gradients[f"w2{j}"] != 0 for j in (1, 2, 3))


def test_without_a_kernel_it_is_static_and_says_the_same_in_words() -> None:
    bundle = play_network((1.0, -0.5), 1.0)._repr_mimebundle_()
    assert set(bundle) == {"text/html", "image/svg+xml", "text/plain"}
    assert "result 1.419, target 1, loss 0.0877" in bundle["text/plain"]
    assert bundle == play_network((1.0, -0.5), 1.0)._repr_mimebundle_()  # the same in each run


@pytest.mark.parametrize("arguments", [((1.0,), 1.0), ((1.0, 2.0), 0.0, {"w99": 1.0}), (("a", "b"), 0.0)])
def test_values_that_cannot_be_drawn_become_a_message(arguments: tuple) -> None:  # type: ignore[type-arg]
    assert "no picture" in play_network(*arguments).words


def test_everything_that_the_script_moves_is_in_the_drawing() -> None:
    picture = play_network((1.0, -0.5), 1.0)
    assert picture.drawing is not None and picture.drawing.data["parameters"] == START
    for name in START:
        assert f"data-label='{name}'" in picture.first_frame
    for name in ("x1", "x2", "h1", "h2", "h3", "result"):
        assert f"data-node='{name}'" in picture.first_frame and f"data-grad='{name}'" in picture.first_frame


def test_no_edge_strikes_through_a_label() -> None:
    frame = play_network((1.0, -0.5), 1.0).first_frame
    labels = {
        name: (float(x), float(y) - 4)
        for name, x, y in re.findall(r"data-label='(\w+)' x='([\d.]+)' y='([\d.]+)'", frame)
    }
    edges = dict(re.findall(r"data-edge='(\w+)' d='([^']*)'", frame))
    assert len(labels) == len(START) and len(edges) == 9
    for edge, data in edges.items():
        ends = [(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", data)]
        for (xa, ya), (xb, yb) in (ends[:2], ends[2:]):
            points = [(xa + n / 200 * (xb - xa), ya + n / 200 * (yb - ya)) for n in range(201)]
            for name, (x, y) in labels.items():
                struck = [p for p in points if abs(p[0] - x) < LABEL[0] - 1 and abs(p[1] - y) < LABEL[1] - 1]
                assert not struck, (edge, name)


@pytest.mark.parametrize(
    ("loss", "text"), [(0.0877, "0.0877"), (0.001, "0.0010"), (0.00009, "9.0e-05"), (0.0, "0.0e+00")]
)
def test_a_small_loss_is_shown_with_its_power_of_ten(loss: float, text: str) -> None:
    assert format_loss(loss) == text
