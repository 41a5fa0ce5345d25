"""The playground network: its derivatives, its words and its static form."""

import math

import pytest

from labkit.pictures.playground import START, compute_pass, play_network


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
