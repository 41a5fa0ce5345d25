"""How a tensor's strides walk through its storage."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import torch
from torch import Tensor

from labkit.pictures.choice import choice
from labkit.pictures.picture import Picture, never_fails, new_figure, png_of

# More cells than this are too small to read.
MAX_CELLS = 64


@never_fails
def show_strides(t: Tensor) -> Picture:
    """Draw `t` (1 or 2 dimensions, at most 64 elements) above the storage that it looks at.

    Each element of the tensor has the colour of the storage slot that it reads. Slots that it never reads stay grey.
    """
    if t.dim() not in (1, 2):
        return Picture(f"(no picture: show_strides draws 1 or 2 dimensions, this tensor has {t.dim()})")
    slots = slots_of(t)
    storage = torch.empty(0, dtype=t.dtype, device=t.device).set_(t.untyped_storage()).cpu()  # type: ignore[call-overload]
    if max(t.numel(), storage.numel()) > MAX_CELLS:
        return Picture(f"(no picture: more than {MAX_CELLS} elements)")
    words = words_on(t)
    values = [_text(v) for v in storage.tolist()]
    return Picture(words, lambda: _draw(slots if t.dim() == 2 else [slots], values, words))


@never_fails
def explore_strides(views: Mapping[str, Tensor]) -> Picture:
    """Draw the first of these tensors as show_strides does; in a live notebook, the one that is chosen by its name."""
    pictures = {name: show_strides(t) for name, t in views.items()}
    for name, picture in pictures.items():
        if not isinstance(picture.drawing, bytes):
            return Picture(f"{name}: {picture.words}")
    width = max(map(len, views))
    words = [f"{name:{width}}  {picture.words}" for name, picture in pictures.items()]
    return choice("\n".join(words), list(views), lambda name: pictures[name].drawing)


def words_on(t: Tensor) -> str:
    """Shape, strides, offset and the size of the storage."""
    size = t.untyped_storage().nbytes() // t.element_size()
    return (
        f"shape {tuple(t.shape)}, strides {tuple(t.stride())}, offset {t.storage_offset()}, storage of {size} elements"
    )


def _draw(rows: list[list[int]], values: list[str], words: str) -> bytes:
    columns = max(max((len(r) for r in rows), default=0), len(values), 1)
    figure = new_figure(min(0.55 * columns + 1.2, 12), 0.5 * (len(rows) + 3) + 0.6)
    axes = figure.add_subplot()
    colours = _colours(len(values))
    for row, line in enumerate(rows):
        for column, slot in enumerate(line):
            _cell(axes, column, -row, values[slot], colours[slot])
    base = -len(rows) - 1.4
    used = set(itertools.chain.from_iterable(rows))
    for slot, value in enumerate(values):
        _cell(axes, slot, base, value, colours[slot] if slot in used else "#e5e5e5")
        axes.text(slot + 0.5, base - 0.35, str(slot), ha="center", va="center", fontsize=7, color="#666666")
    axes.text(-0.2, 0.5, "tensor", ha="right", va="center", fontsize=9)
    axes.text(-0.2, base + 0.5, "storage", ha="right", va="center", fontsize=9)
    axes.set_title(words, fontsize=9, loc="left")
    axes.set_xlim(-2.2, columns + 0.2)
    axes.set_ylim(base - 0.7, 1.2)
    axes.set_aspect("equal")
    axes.set_axis_off()
    return png_of(figure)


def slots_of(t: Tensor) -> list:  # type: ignore[type-arg]
    """For each element of `t`, nested like `t`, the index of its slot in the storage: offset + sum(index * stride)."""
    grids = [torch.arange(n) * s for n, s in zip(t.shape, t.stride(), strict=True)]
    total = torch.tensor(t.storage_offset())
    for dimension, grid in enumerate(grids):
        total = total + grid.reshape([-1 if d == dimension else 1 for d in range(t.dim())])
    listed: list = total.tolist()  # type: ignore[type-arg]
    return listed


def _colours(count: int) -> list:  # type: ignore[type-arg]
    from matplotlib import colormaps

    shades = colormaps["viridis"]
    return [(*shades(i / max(count - 1, 1))[:3], 0.45) for i in range(count)]


def _cell(axes, column: float, row: float, text: str, colour) -> None:  # type: ignore[no-untyped-def]
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((column, row), 1, 1, facecolor=colour, edgecolor="white"))
    axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=8)


def _text(value: float | int | bool) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
