"""Live bytes are counted the same way everywhere, and shown over time."""

import pytest
import torch
from torch import Tensor, nn

from labkit import memory, show_memory
from labkit.pictures.picture import ALL

UNIT = 6 * 5 * 4  # bytes of one layer's result


def make_layers() -> nn.Sequential:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 5), nn.Tanh())
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    return model


def run_step(model: nn.Module, x: Tensor) -> memory.Watch:
    with memory.watch(model, x) as watch:
        out = model(x)
        watch.mark("backward")
        out.sum().backward()
        del out
    assert watch.now == 0, watch.timeline
    return watch


def test_a_tensor_counts_until_it_is_freed() -> None:
    with memory.watch() as watch:
        a = torch.zeros(10)
        b = a + 1
        assert watch.now == 80
        del a
        assert watch.now == 40
    assert (watch.peak, watch.timeline) == (80, [0, 40, 80, 40])
    assert b.sum() == 10


def test_a_view_owns_no_memory() -> None:
    with memory.watch() as watch:
        column = torch.zeros(10, 3)[:, 0]
    assert watch.now == 120 and len(column) == 10


def test_models_their_gradients_and_inputs_were_there_before() -> None:
    model, x = make_layers(), torch.ones(6, 5)
    with memory.watch(model, x) as watch:
        model.zero_grad(set_to_none=False)
        x.t()
    assert watch.peak == 0


def test_a_tensor_in_the_memory_of_a_freed_gradient_counts() -> None:
    for _ in range(30):
        model = nn.Linear(8, 8)
        model(torch.ones(2, 8)).sum().backward()
        with memory.watch(model) as watch:
            model.zero_grad()
            tensors = [torch.empty(1000) for _ in range(4)]
        assert watch.peak == 4 * len(tensors) * 1000


def test_a_step_goes_up_and_down_again() -> None:
    watch = run_step(make_layers(), torch.ones(6, 5))
    place, name = watch.marks[0]
    assert name == "backward" and watch.timeline[place] == 2 * UNIT
    assert watch.timeline[-1] == watch.now == 0
    assert watch.peak == max(watch.timeline) > 2 * UNIT


def test_without_recording_less_is_alive() -> None:
    model, x = make_layers(), torch.ones(6, 5)
    with torch.no_grad(), memory.watch(model, x) as watch:
        model(x)
    assert (watch.peak, watch.now) == (2 * UNIT, 0)


def test_memory_shared_by_tensors_counts_once() -> None:
    t = torch.zeros(10)
    assert memory.nbytes([t, {"a": t[:3]}, (torch.zeros(2, dtype=torch.float64), 5)]) == 56
    assert memory.nbytes([]) == 0


def test_statistics_of_an_accelerator_are_empty_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    assert memory.on_device() == {}


def test_statistics_of_an_accelerator_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    for number, name in enumerate(("memory_allocated", "memory_reserved", "max_memory_allocated")):
        monkeypatch.setattr(torch.accelerator, name, lambda number=number: number)
    assert memory.on_device() == {"allocated": 0, "reserved": 1, "peak": 2}


def test_a_picture_of_runs_says_in_words_what_it_shows() -> None:
    watch = run_step(make_layers(), torch.ones(6, 5))
    picture = show_memory({"first": watch, "second": watch})
    assert "live MB" in picture.first_frame and "backward" in picture.first_frame
    assert picture.words.splitlines()[0] == f"first   peak {watch.peak:,} bytes, at the end 0"


def test_one_run_can_be_chosen() -> None:
    runs = {"first": run_step(make_layers(), torch.ones(6, 5)), "second": run_step(make_layers(), torch.ones(3, 5))}
    drawing = show_memory(runs).drawing
    assert drawing is not None and list(drawing.groups[0].labels) == [ALL, "first", "second"]


def test_no_run_gives_words_only() -> None:
    picture = show_memory({})
    assert picture.first_frame == "" and "nothing to draw yet" in picture.words
