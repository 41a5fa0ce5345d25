"""A picture of which a part can be chosen: buttons in a live notebook, a still picture elsewhere."""

from __future__ import annotations

from typing import Any

import IPython
import ipywidgets
import pytest
import torch

from labkit.pictures import explore_strides, show_curves
from labkit.pictures.choice import Choice

WIDGET = "application/vnd.jupyter.widget-view+json"


def choice(*parts: str) -> Choice:
    return Choice("two ways", ["all", *(parts or ("one", "other"))], lambda chosen: chosen.encode())


def test_without_a_kernel_the_whole_stands_still() -> None:
    shown = choice()._repr_mimebundle_()
    assert shown == {"text/plain": "two ways", "image/png": b"all"}


def test_in_a_kernel_a_button_draws_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    box = ipywidgets.VBox

    def noted(children: Any) -> Any:
        made.extend(children)
        return box(children)

    monkeypatch.setattr(IPython, "get_ipython", lambda: object())
    monkeypatch.setattr(ipywidgets, "VBox", noted)
    assert WIDGET in choice()._repr_mimebundle_()
    buttons, image = made
    assert image.value == b"all"
    buttons.value = "one"
    assert image.value == b"one"


def test_where_the_whole_has_one_part_there_is_nothing_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IPython, "get_ipython", lambda: object())
    assert WIDGET not in choice("one")._repr_mimebundle_()


def test_strides_of_several_views_are_said_in_words() -> None:
    table = torch.arange(12).reshape(3, 4)
    shown = explore_strides({"rows": table, "one row": table[:1].expand(3, 4)})
    assert isinstance(shown, Choice) and shown.options == ["rows", "one row"]
    assert "strides (0, 1)" in shown.words and shown.drawing.startswith(b"\x89PNG")
    assert "no picture" in explore_strides({"too many dimensions": torch.zeros(2, 2, 2)}).words


def test_curves_say_where_they_begin_and_end() -> None:
    shown = show_curves({"slow": [2.0, 1.5], "wild": [2.0, float("inf"), 7.0], "none": []})
    assert isinstance(shown, Choice) and shown.drawing.startswith(b"\x89PNG")
    assert shown.words.splitlines() == ["slow  first 2, last 1.5", "wild  first 2, last 7"]
    assert "no picture" in show_curves({}).words
