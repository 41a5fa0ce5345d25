"""A histogram of gradients that moves over the range of float16 as the loss scale changes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from labkit.pictures.chart import BOTTOM, TOP, Axes, draw_frame
from labkit.pictures.palette import BLUE, GREEN, INK, LINE, OCHRE, RED
from labkit.pictures.picture import Drawing, Group, Picture, Table, catch_failures
from labkit.pictures.svg import SMALL, draw_line, draw_rect, draw_text, show_only

ZERO, TINY, MOST = -25, -14, 16  # powers of 2: below ZERO, all becomes 0; below TINY, digits are lost; then inf


@catch_failures
def show_underflow(gradients: Tensor, scales: Sequence[float]) -> Picture:
    """Draw the sizes of the gradients multiplied by each scale, and how many become 0 or inf in float16.

    Args:
        gradients: float32, of any shape. Zeros are left out.
    """
    nonzero = gradients.detach().flatten().float().cpu()
    nonzero = nonzero[nonzero != 0]
    if not len(nonzero):
        raise ValueError("all gradients are zero")
    counts = []
    for scale in scales:
        scaled = nonzero * scale
        half = scaled.half()
        counts.append((_count_bins(scaled), int((half == 0).sum()), int(half.isinf().sum())))
    words = [
        f"scale {s:g}: {z} of {len(nonzero)} become 0, {i} become inf"
        for s, (_, z, i) in zip(scales, counts, strict=True)
    ]
    return Picture("\n".join(words), lambda: _draw([bins for bins, _, _ in counts], scales, words))


def _count_bins(values: Tensor) -> dict[int, int]:
    """Count the values between 2**n and 2**(n + 1), by n."""
    finite = values[values.isfinite() & (values != 0)]
    return dict(Counter(torch.frexp(finite).exponent.sub(1).tolist()))


def _draw(bins_by_scale: list[dict[int, int]], scales: Sequence[float], words: list[str]) -> Drawing:
    """Draw a histogram for each scale over the ranges of float16: 0, few digits, full precision and infinity."""
    places = [n for bins in bins_by_scale for n in bins]
    low, high = min([*places, ZERO - 4]), max([*places, MOST + 3]) + 1
    peak = max(count for bins in bins_by_scale for count in bins.values())
    ticks = [n for n in range(-60, 41, 10) if low <= n <= high]
    axes = Axes("power of 2", "gradients", (low, high), (0, peak * 1.08), x_ticks=ticks)
    parts = [
        _draw_range(axes, low, ZERO, RED, "0"),
        _draw_range(axes, ZERO, TINY, OCHRE, "few digits"),
        _draw_range(axes, TINY, MOST, GREEN, "float16"),
    ]
    parts += [_draw_range(axes, MOST, high, RED, "inf"), *draw_frame(axes)]
    for frame, bins in enumerate(bins_by_scale):
        bars = []
        for n, count in sorted(bins.items()):
            (x, y), (right, base) = axes.place(n, count), axes.place(n + 1, 0)
            bars.append(draw_rect(x, y, right - x - 1, base - y, RED if n < ZERO or n >= MOST else BLUE, 0.85))
        parts.append(show_only([frame], *bars))
    names = [f"scale {scale:g}" for scale in scales]
    rows = [[str(n), *(str(bins.get(n, 0)) for bins in bins_by_scale)] for n in sorted(set(places))]
    return Drawing(
        "Gradients in float16",
        axes.left + axes.width + 16,
        TOP + axes.height + BOTTOM,
        parts,
        [Group("scale", names, True)],
        words,
        caption=True,
        table=Table("Counts as a table", [["gradients from 2 to the power of", *names], *rows]),
    )


def _draw_range(axes: Axes, start: float, end: float, color: str, words: str) -> str:
    (x, _), (right, _) = axes.place(start, 0), axes.place(end, 0)
    ground = draw_rect(x, TOP, right - x, axes.height, color, 0.1)
    edge = draw_line(x, TOP, x, TOP + axes.height, LINE) if math.isfinite(x) else ""
    return ground + edge + draw_text((x + right) / 2, TOP - 6, words, INK, "middle", SMALL)
