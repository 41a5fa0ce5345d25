"""Pictures of dtypes: which values become 0 or inf in float16, and which dtypes autocast uses."""

import torch
from torch import Tensor, nn

from labkit import show_dtypes, show_underflow


def test_values_become_zero_or_infinite_as_in_float16() -> None:
    gradients = torch.tensor([2.0**-30, 2.0**-24, 2.0**-10, 0.0, 1.0])
    assert show_underflow(gradients, [1, 64, 2.0**16]).words.splitlines() == [
        "scale 1: 1 of 4 become 0, 0 become inf",
        "scale 64: 0 of 4 become 0, 0 become inf",
        "scale 65536: 0 of 4 become 0, 1 become inf",
    ]
    assert "all gradients are zero" in show_underflow(torch.zeros(3), [1]).words


def test_each_scale_is_a_step_that_moves_the_same_bars() -> None:
    drawing = show_underflow(torch.tensor([1.0, 1.5, 4.0]), [1, 2]).drawing
    assert drawing is not None and drawing.groups[0].steps
    first, second = (part for part in drawing.parts if part.startswith("<g data-only"))
    assert first.count("<rect") == second.count("<rect") == 2


def test_autocast_casts_the_weight_and_the_input_of_a_product() -> None:
    layer = nn.Linear(3, 2, bias=False)
    lines = show_dtypes(layer, torch.ones(1, 3)).words.splitlines()
    assert lines[0] == "no autocast: mm float32 -> float32"
    assert lines[1].count("_to_copy float32 -> bfloat16") == 2 and lines[1].endswith("mm bfloat16 -> bfloat16")


def test_each_mode_is_a_frame() -> None:
    def f(x: Tensor) -> Tensor:
        return x @ x

    drawing = show_dtypes(f, torch.ones(2, 2), dtypes=(torch.bfloat16, torch.float16)).drawing
    assert drawing is not None
    assert list(drawing.groups[0].labels) == ["no autocast", "autocast to bfloat16", "autocast to float16"]
    assert "no picture" in show_dtypes(f, 3).words
