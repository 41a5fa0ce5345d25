"""The device a lab works on, and hints that open one at a time."""

import sys

import numpy as np
import pytest
import torch
from markdown_it import MarkdownIt
from torch import nn
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext

from labkit import device, hint, use_device


def test_the_device_is_the_best_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADLAB_DEVICE", raising=False)
    cases = [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")]
    for cuda, mps, kind in cases:
        monkeypatch.setattr(torch.cuda, "is_available", lambda cuda=cuda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda mps=mps: mps)
        assert device().type == kind


def test_the_environment_decides_and_a_missing_device_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADLAB_DEVICE", "cpu")
    assert device() == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("GRADLAB_DEVICE", "cuda:1")
    with pytest.raises(RuntimeError, match="no cuda"):
        device()


def test_new_tensors_are_made_on_the_available_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["labkit.device"], "device", lambda: torch.device("meta"))
    try:
        assert use_device() == torch.device("meta")
        assert torch.zeros(2).device.type == nn.Linear(1, 1).weight.device.type == "meta"
        assert torch.from_numpy(np.ones(2)).device.type == "cpu"
    finally:
        torch.set_default_device(None)


@pytest.mark.parametrize("best", ["cpu", "mps"])
def test_on_the_cpu_and_instead_of_mps_no_default_is_set(best: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["labkit.device"], "device", lambda: torch.device(best))
    assert use_device() == torch.device("cpu")
    assert not [mode for mode in _get_current_function_mode_stack() if isinstance(mode, DeviceContext)]


def test_hints_unfold_inside_one_another() -> None:
    html = hint("first <b>", "second")._repr_mimebundle_()["text/markdown"]
    assert html.index("Hint 1") < html.index("first &lt;b&gt;") < html.index("Hint 2") < html.index("second")
    assert html.count("<details>") == html.count("</details>") == 2


def test_a_hint_in_a_text_keeps_its_stars_and_underscores() -> None:
    text = hint("2**60, __init__ and keep_dim")._repr_mimebundle_()["text/markdown"]
    assert "<p>2**60, __init__ and keep_dim</p>" in MarkdownIt("commonmark").render(text)


def test_without_a_notebook_only_the_first_hint_is_shown() -> None:
    assert "second" not in repr(hint("first", "second"))
    assert repr(hint("only")) == "hint 1: only"


def test_a_hint_needs_a_text() -> None:
    with pytest.raises(ValueError, match="at least one"):
        hint()
