"""Curves over x, in panels: their words, their drawing, and their buttons."""

import torch

from labkit.pictures.chart import choose_style
from labkit.pictures.curve_panels import show_over
from labkit.pictures.picture import ALL

X = torch.linspace(-2, 2, 9)
PANELS = {"squares": {"x * x": X * X, "2 x": 2 * X}, "roots": {"root": X.sqrt()}}


def test_the_words_say_what_the_picture_shows() -> None:
    picture = show_over(X, PANELS)
    assert "squares" in picture.first_frame
    assert picture.words.splitlines() == [
        "squares: x * x  from 0 to 4",
        "squares: 2 x    from -4 to 4",
        "roots: root   from 0 to 1.41, 4 not finite",
    ]


def test_all_panels_together_and_each_one_have_a_button() -> None:
    drawing = show_over(X, PANELS).drawing
    assert drawing is not None and [list(group.labels) for group in drawing.groups] == [[ALL, "squares", "roots"]]
    assert [part.split(">")[0] for part in drawing.parts if "data-only" in part] == [
        "<g data-only='0'",
        "<g data-only='1' display='none'",
        "<g data-only='2' display='none'",
    ]
    assert show_over(X, {"squares": PANELS["squares"]}).drawing.groups == []  # type: ignore[union-attr]


def test_a_logarithmic_scale_leaves_gaps_at_values_without_a_logarithm() -> None:
    assert show_over(X, {"a": {"b": X}}, log=True).first_frame != show_over(X, {"a": {"b": X}}).first_frame
    assert show_over(X, {"a": {"b": 0 * X}}, log=True).first_frame


def test_tensors_with_a_history_and_values_that_are_not_finite_become_a_picture() -> None:
    x = X.clone().requires_grad_()
    picture = show_over(x, {"a": {"b": x / 0}})
    assert picture.drawing and picture.words == "a: b  no finite value, 9 not finite"


def test_curves_that_cannot_be_drawn_become_words() -> None:
    assert "3 values for 9 values of x" in show_over(X, {"a": {"b": X[:3]}}).words
    assert "nothing to draw yet" in show_over(X, {}).words


def test_no_two_of_thirty_six_lines_look_alike() -> None:
    assert len({choose_style(place) for place in range(36)}) == 36
