"""Curves over x, in panels: what is said in words, what is drawn, and what one button shows."""

import torch

from labkit.pictures.choice import ALL
from labkit.pictures.over import draw, show_over

PNG = b"\x89PNG\r\n\x1a\n"
X = torch.linspace(-2, 2, 9)
PANELS = {"squares": {"x * x": X * X, "2 x": 2 * X}, "roots": {"root": X.sqrt()}}


def test_it_says_in_words_what_the_picture_shows() -> None:
    picture = show_over(X, PANELS)
    assert isinstance(picture.drawing, bytes) and picture.drawing.startswith(PNG)
    assert picture.words.splitlines() == [
        "squares: x * x  from 0 to 4",
        "squares: 2 x    from -4 to 4",
        "roots: root   from 0 to 1.41, 4 not finite",
    ]


def test_a_button_for_all_panels_and_for_each() -> None:
    picture = show_over(X, PANELS)
    assert picture.widgets is not None
    buttons, image = picture.widgets().children
    shown = set()
    for option in (ALL, "squares", "roots"):
        buttons.value = option
        shown.add(bytes(image.value))
    assert len(shown) == 3


def test_a_logarithmic_scale_leaves_gaps_where_there_is_no_logarithm() -> None:
    assert draw([1.0, 2.0], {"a": {"b": [0.0, 3.0]}}, True) != draw([1.0, 2.0], {"a": {"b": [0.0, 3.0]}})
    assert show_over(X, {"a": {"b": 0 * X}}, log=True).drawing.startswith(PNG)  # type: ignore[arg-type]


def test_tensors_with_a_history_and_values_that_are_not_finite() -> None:
    x = X.clone().requires_grad_()
    picture = show_over(x, {"a": {"b": x / 0}})
    assert picture.drawing and picture.words == "a: b  no finite value, 9 not finite"


def test_what_cannot_be_drawn_becomes_words() -> None:
    assert "3 values for 9 places" in show_over(X, {"a": {"b": X[:3]}}).words
    assert "no curve" in show_over(X, {}).words
