"""A picture of which a part can be chosen: buttons in a live notebook, a still picture elsewhere."""

import sys
from typing import Any

import IPython
import pytest
import torch

from labkit.pictures import explore_strides, show_curves
from labkit.pictures.choice import choice
from labkit.pictures.picture import VIEW, Picture


def buttons_of(picture: Picture) -> Any:
    assert picture.widgets is not None
    return picture.widgets().children[0]


def two_ways(*parts: str) -> Picture:
    return choice("two ways", ["all", *(parts or ("one", "other"))], lambda chosen: chosen.encode())


def test_without_a_kernel_the_whole_stands_still() -> None:
    assert two_ways()._repr_mimebundle_() == {"text/plain": "two ways", "image/png": b"all"}


def test_without_ipywidgets_it_stands_still_in_a_kernel_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IPython, "get_ipython", lambda: object())
    assert VIEW in two_ways()._repr_mimebundle_()
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert VIEW not in two_ways()._repr_mimebundle_()


def test_a_button_draws_its_part() -> None:
    picture = two_ways()
    assert picture.widgets is not None
    buttons, image = picture.widgets().children
    assert image.value == b"all"
    buttons.value = "one"
    assert image.value == b"one"


def test_where_the_whole_has_one_part_there_is_nothing_to_choose() -> None:
    assert two_ways("one").widgets is None


def test_strides_of_several_views_are_said_in_words() -> None:
    table = torch.arange(12).reshape(3, 4)
    shown = explore_strides({"rows": table, "one row": table[:1].expand(3, 4)})
    assert buttons_of(shown).options == ("rows", "one row")
    assert "strides (0, 1)" in shown.words and isinstance(shown.drawing, bytes)
    assert "no picture" in explore_strides({"too many dimensions": torch.zeros(2, 2, 2)}).words


def test_curves_say_where_they_begin_and_end() -> None:
    shown = show_curves({"slow": [2.0, 1.5], "wild": [2.0, float("inf"), 7.0], "none": []})
    assert isinstance(shown.drawing, bytes) and shown.drawing.startswith(b"\x89PNG")
    assert shown.words.splitlines() == ["slow  first 2, last 1.5", "wild  first 2, last 7"]
    assert "no picture" in show_curves({}).words
