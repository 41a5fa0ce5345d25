"""The memory that a graph holds for backward is measured step by step, and shown."""

import torch
from torch import nn

from labkit import show_kept
from labkit.pictures.picture import ALL
from labkit.pictures.saved_memory import MODES, measure

UNIT = 5 * 3 * 4  # bytes of one layer's result


def make_layers() -> nn.Sequential:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3), nn.Tanh())


def measure_curve(mode: str) -> list[float]:
    return [nbytes / UNIT for nbytes in measure(make_layers(), torch.ones(5, 3), mode)]


def test_a_usual_backward_goes_up_and_down_again() -> None:
    assert measure_curve("backward()") == [0, 0, 1, 1, 2, 1, 1, 0, 0]


def test_a_retained_graph_has_the_same_peak_and_is_not_freed() -> None:
    assert measure_curve("backward(retain_graph=True)") == [0, 0, 1, 1, 2, 2, 2, 2, 2]


def test_without_recording_nothing_is_held() -> None:
    assert measure_curve("no_grad()") == [0] * 9


def test_a_detached_result_lets_go_of_the_graph() -> None:
    assert measure_curve("detach() at the end") == [0, 0, 1, 1, 2, 0, 0, 0, 0]


def test_measuring_changes_no_gradient_parameter_or_mode() -> None:
    model, x = make_layers(), torch.ones(5, 3)
    before = [p.detach().clone() for p in model.parameters()]
    show_kept(model, x)
    assert all(p.grad is None for p in model.parameters())
    assert all(torch.equal(p, old) for p, old in zip(model.parameters(), before, strict=True))
    assert torch.is_grad_enabled()


def test_the_words_say_what_the_picture_shows() -> None:
    picture = show_kept(make_layers(), torch.ones(5, 3))
    assert "KiB held for backward" in picture.first_frame
    assert len(picture.words.splitlines()) == len(MODES)
    assert "retain_graph=True" in picture.words and "120 bytes" in picture.words


def test_each_mode_can_be_highlighted() -> None:
    drawing = show_kept(make_layers(), torch.ones(5, 3)).drawing
    assert drawing is not None and [list(group.labels) for group in drawing.groups] == [[ALL, *MODES]]
    assert all(f"data-strong='{frames}'" in "".join(drawing.parts) for frames in ("0-1", "0 2", "0 3", "0 4"))


def test_a_model_that_is_no_sequence_of_layers_becomes_words() -> None:
    assert "no picture" in repr(show_kept(nn.Linear(3, 3), torch.ones(5, 3)))  # type: ignore[arg-type]
