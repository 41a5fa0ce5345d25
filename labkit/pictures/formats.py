"""The bits of a number in three floating-point formats used in training, with its neighbors.

The reader types a number, or steps from neighbor to neighbor in a format of their choice.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from labkit.pictures.palette import BLUE, OCHRE, RED, STRONG
from labkit.pictures.picture import WIDTH, Drawing, Picture, catch_failures, read_script
from labkit.pictures.svg import SMALL, draw_rect, draw_text, tag_element

BITS = {"float32": (8, 23), "float16": (5, 10), "bfloat16": (8, 7)}  # exponent, fraction
COLORS = (RED, OCHRE, BLUE)  # sign, exponent, fraction
TINTS = 0.04, STRONG  # of a bit that is 0, and of one that is 1


class StoredNumber(NamedTuple):
    """A number as a format stores it."""

    bits: tuple[str, str, str]
    """Sign, exponent and fraction, as strings of 0 and 1."""
    value: float
    below: float
    above: float

    @property
    def kind(self) -> str:
        _, exponent, fraction = self.bits
        if "0" not in exponent:
            return "nan" if "1" in fraction else "inf"
        if "1" in exponent:
            return "normal"
        return "subnormal" if "1" in fraction else "zero"


def store_number(number: float, name: str) -> StoredNumber:
    """Round the number to the format "float32", "float16" or "bfloat16": bits, value and both neighbors.

    The neighbor above the largest number is inf. The neighbors of nan are nan.
    """
    dtype = getattr(torch, name)
    integer = torch.int32 if name == "float32" else torch.int16
    exponent, fraction = BITS[name]
    length = 1 + exponent + fraction
    t = torch.tensor(number, dtype=torch.float64).to(dtype)
    text = format(int(t.view(integer)) % 2**length, f"0{length}b")
    bits = (text[0], text[1 : 1 + exponent], text[1 + exponent :])
    return StoredNumber(bits, t.item(), _find_neighbor(t, integer, -1), _find_neighbor(t, integer, 1))


def _find_neighbor(t: torch.Tensor, integer: torch.dtype, direction: int) -> float:
    if bool(t.isnan()):
        return math.nan
    if bool(t.isinf()) and (bool(t > 0) == (direction > 0)):
        return t.item()
    if bool(t == 0):
        return direction * torch.tensor(1, dtype=integer).view(t.dtype).item()
    step = direction if bool(t > 0) else -direction
    return (t.view(integer) + step).view(t.dtype).item()


@catch_failures
def explore_formats(number: float) -> Picture:
    """Draw how float32, float16 and bfloat16 store a number: sign, exponent and fraction, and its two neighbors.

    The reader can type another number, or move to the next number of a format.
    """
    number = float(number)
    return Picture(describe_number(number), lambda: draw(number))


def describe_number(number: float) -> str:
    """Describe the number with a line for each format: bits, stored value, its kind, and its neighbors."""
    lines = [f"{number!r} is stored as"]
    for name in BITS:
        s = store_number(number, name)
        lines.append(f"{name:9} {' '.join(s.bits)}  {s.value:.9g} ({s.kind}), next {s.below:.9g} and {s.above:.9g}")
    return "\n".join(lines)


def draw(number: float) -> Drawing:
    """Draw the bits as boxes in a row for each format, and below them the value between its neighbors."""
    side, left = 21.3, 76.0
    parts = [tag_element("number", "", draw_text(4, 16, f"{number!r}, stored"))]
    for row, name in enumerate(BITS):
        s, y, x = store_number(number, name), 30 + 62.0 * row, left
        parts.append(draw_text(left - 8, y + 15, name, anchor="end"))
        boxes, bits = [], []
        for part, color in zip(s.bits, COLORS, strict=True):
            for bit in part:
                boxes.append(draw_rect(x, y, side - 1, side - 1, color, TINTS[int(bit)], color))
                bits.append(draw_text(x + side / 2 - 0.5, y + 15, bit, anchor="middle", size=SMALL))
                x += side
        parts.append(f"<g data-format='{name}'>{''.join(boxes + bits)}</g>")
        text = f"{s.value:.9g} ({s.kind}), between {s.below:.9g} and {s.above:.9g}"
        parts.append(tag_element("value", name, draw_text(left, y + 40, text)))
    for place, (words, color) in enumerate(zip(("sign", "exponent", "fraction"), COLORS, strict=True)):
        parts.append(draw_text(left + 17.5 * side + 84 * place, 107, words, color))
    # JSON has no inf or nan.
    data = {"number": number if math.isfinite(number) else 0.0, "tints": TINTS}
    script = read_script("formats.js") if math.isfinite(number) else ""
    return Drawing("A number in three formats", WIDTH, 206, parts, script=script, data=data)
