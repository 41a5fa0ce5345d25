"""The bits of a number in the three floating-point formats of training, with its neighbours.

In a live notebook the reader types a number, or walks from neighbour to neighbour in the format that is chosen.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from labkit.pictures.picture import Picture, never_fails, new_figure, png_of

BITS = {"float32": (8, 23), "float16": (5, 10), "bfloat16": (8, 7)}  # exponent, fraction
COLOURS = ("#d9534f", "#e8b04b", "#5b8fc7")  # sign, exponent, fraction


class Stored(NamedTuple):
    """What a format makes of a number. bits: sign, exponent and fraction, as texts of 0 and 1."""

    bits: tuple[str, str, str]
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


def stored(number: float, name: str) -> Stored:
    """The number, rounded to the format "float32", "float16" or "bfloat16": bits, value and both neighbours there.

    Past the largest number the neighbour is inf. nan has no neighbours but nan.
    """
    dtype = getattr(torch, name)
    whole = torch.int32 if name == "float32" else torch.int16
    exponent, fraction = BITS[name]
    length = 1 + exponent + fraction
    t = torch.tensor(number, dtype=torch.float64).to(dtype)
    text = format(int(t.view(whole)) % 2**length, f"0{length}b")
    bits = (text[0], text[1 : 1 + exponent], text[1 + exponent :])
    return Stored(bits, t.item(), _neighbour(t, whole, -1), _neighbour(t, whole, 1))


def _neighbour(t: torch.Tensor, whole: torch.dtype, way: int) -> float:
    if bool(t.isnan()):
        return math.nan
    if bool(t.isinf()) and (bool(t > 0) == (way > 0)):
        return t.item()
    if bool(t == 0):
        return way * torch.tensor(1, dtype=whole).view(t.dtype).item()
    step = way if bool(t > 0) else -way
    return (t.view(whole) + step).view(t.dtype).item()


@never_fails
def explore_formats(number: float) -> Picture:
    """Draw how float32, float16 and bfloat16 store a number: sign, exponent and fraction, and its two neighbours.

    In a live notebook the number can be changed: typed, or moved to the next number of one of the formats.
    """
    number = float(number)
    picture = Picture(words_on(number), lambda: draw(number))
    picture.widgets = lambda: _explorer(number, picture)
    return picture


def _explorer(start: float, picture: Picture) -> Any:
    """The means to change the number, and the drawing that follows it."""
    import ipywidgets  # type: ignore[import-untyped]

    number = ipywidgets.FloatText(value=start, description="number", step=None)
    chosen = ipywidgets.ToggleButtons(options=list(BITS), value="float16")
    below = ipywidgets.Button(description="next below")
    above = ipywidgets.Button(description="next above")
    image = ipywidgets.Image(value=picture.drawing, format="png")

    def move(way: str) -> None:
        target = getattr(stored(number.value, chosen.value), way)
        if math.isfinite(target):
            number.value = target

    def show(change: dict[str, Any]) -> None:
        image.value = draw(change["new"])

    below.on_click(lambda _: move("below"))
    above.on_click(lambda _: move("above"))
    number.observe(show, names="value")
    return ipywidgets.VBox([ipywidgets.HBox([number, below, above]), chosen, image])


def words_on(number: float) -> str:
    """One line for each format: bits, the value that is stored, what kind it is, and its neighbours."""
    lines = [f"{number!r} is stored as"]
    for name in BITS:
        s = stored(number, name)
        lines.append(f"{name:9} {' '.join(s.bits)}  {s.value:.9g} ({s.kind}), next {s.below:.9g} and {s.above:.9g}")
    return "\n".join(lines)


def draw(number: float) -> bytes:
    """The bits as boxes, one row for each format; below them the value, and where it lies between its neighbours."""
    from matplotlib.patches import Rectangle

    figure = new_figure(9, 3.6)
    axes = figure.add_subplot()
    for row, name in enumerate(BITS):
        s, y, x = stored(number, name), -2.4 * row, 0.0
        axes.text(-0.5, y + 0.5, name, ha="right", va="center", fontsize=10)
        for part, colour in zip(s.bits, COLOURS, strict=True):
            for bit in part:
                face = colour if bit == "1" else "white"
                axes.add_patch(Rectangle((x, y), 1, 1, facecolor=face, edgecolor=colour, linewidth=1.2))
                axes.text(x + 0.5, y + 0.5, bit, ha="center", va="center", fontsize=8)
                x += 1
        text = f"{s.value:.9g} ({s.kind}), between {s.below:.9g} and {s.above:.9g}"
        axes.text(0, y - 0.55, text, ha="left", va="center", fontsize=9, color="#333333")
    for place, (text, colour) in enumerate(zip(("sign", "exponent", "fraction"), COLOURS, strict=True)):
        axes.text(20 + 4.2 * place, -4.3, text, ha="left", va="center", fontsize=9, color=colour, weight="bold")
    axes.set_title(f"{number!r}, stored", fontsize=10, loc="left")
    axes.set_xlim(-4.5, 32.5)
    axes.set_ylim(-6.0, 1.3)
    axes.set_axis_off()
    return png_of(figure)
