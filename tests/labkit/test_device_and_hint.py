"""The device a lab works on, and hints that open one at a time."""

import pytest
import torch

from labkit import device, hint


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


def test_hints_unfold_inside_one_another() -> None:
    html = hint("first <b>", "second")._repr_mimebundle_()["text/markdown"]
    assert html.index("Hint 1") < html.index("first &lt;b&gt;") < html.index("Hint 2") < html.index("second")
    assert html.count("<details>") == html.count("</details>") == 2


def test_without_a_notebook_only_the_first_hint_is_shown() -> None:
    assert "second" not in repr(hint("first", "second"))
    assert repr(hint("only")) == "hint 1: only"


def test_a_hint_needs_a_text() -> None:
    with pytest.raises(ValueError, match="at least one"):
        hint()
