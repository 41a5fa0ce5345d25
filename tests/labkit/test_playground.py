"""The network that one plays with: its derivatives, its words, its still form, and what the sliders do."""

import math

import pytest

from labkit.pictures.playground import RATE, START, draw, forward_and_backward, play_network

PNG = b"\x89PNG\r\n\x1a\n"


def by_hand(inputs: tuple[float, float], target: float, p: dict[str, float]) -> float:
    hidden = [math.tanh(p[f"w1{j}"] * inputs[0] + p[f"w2{j}"] * inputs[1] + p[f"b{j}"]) for j in (1, 2, 3)]
    return (sum(p[f"v{j}"] * h for j, h in enumerate(hidden, 1)) + p["c"] - target) ** 2 / 2


def test_the_loss_and_its_derivatives_are_right() -> None:
    inputs, target = (0.7, -1.3), 0.4
    p = forward_and_backward(inputs, target, START)
    assert math.isclose(p.loss, by_hand(inputs, target, START), rel_tol=1e-12)
    for name in START:
        up, down = ({**START, name: START[name] + d} for d in (1e-6, -1e-6))
        slope = (by_hand(inputs, target, up) - by_hand(inputs, target, down)) / 2e-6
        assert math.isclose(p.gradients[name], slope, rel_tol=1e-5, abs_tol=1e-8), name
    assert math.isclose(p.gradients["result"], p.result - target)


def test_an_input_of_zero_gives_its_weights_no_gradient() -> None:
    gradients = forward_and_backward((0.0, 1.0), 2.0, START).gradients
    assert [gradients[f"w1{j}"] for j in (1, 2, 3)] == [0, 0, 0]
    assert all(gradients[f"w2{j}"] != 0 for j in (1, 2, 3))


def test_without_a_kernel_it_stands_still_and_says_the_same_in_words() -> None:
    shown = play_network((1.0, -0.5), 1.0)._repr_mimebundle_()
    assert set(shown) == {"image/png", "text/plain"}
    assert shown["image/png"].startswith(PNG)
    assert "result 1.419, target 1, loss 0.0877" in shown["text/plain"]
    assert shown["image/png"] == draw((1.0, -0.5), 1.0, START)  # the same in each run


@pytest.mark.parametrize("arguments", [((1.0,), 1.0), ((1.0, 2.0), 0.0, {"w99": 1.0}), (("a", "b"), 0.0)])
def test_what_cannot_be_drawn_says_so(arguments: tuple) -> None:  # type: ignore[type-arg]
    assert "no picture" in play_network(*arguments).words


def test_inputs_and_parameters_can_be_moved_and_steps_taken() -> None:
    picture = play_network((1.0, -0.5), 1.0)
    assert picture.widgets is not None
    values, controls, image = picture.widgets().children
    x1, x2, target = values.children
    chosen, moved, step, back = controls.children
    start = image.value
    x1.value = 0.5
    assert image.value == draw((0.5, -0.5), 1.0, START, "w11")
    chosen.value = "v2"
    assert moved.value == START["v2"]
    moved.value = 2.0
    changed = {**START, "v2": 2.0}
    assert image.value == draw((0.5, -0.5), 1.0, changed, "v2") != start
    before = forward_and_backward((0.5, -0.5), 1.0, changed)
    step.click()
    assert math.isclose(moved.value, 2.0 - RATE * before.gradients["v2"], rel_tol=1e-9)
    for _ in range(20):
        step.click()
    target.value = 1.0
    x2.value = 0.25
    back.click()
    assert moved.value == START["v2"] and image.value == draw((0.5, 0.25), 1.0, START, "v2")
