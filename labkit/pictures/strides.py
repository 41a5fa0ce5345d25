"""A tensor above its storage, with the slots that its strides reach."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import torch
from torch import Tensor

from labkit.pictures.picture import Drawing, Group, Picture, catch_failures
from labkit.pictures.svg import GRAY, choose_shade, draw_cell, draw_text, show_only

MAX_CELLS = 64  # more would be too small to read
SIDE, LEFT, TOP = 34, 66, 34  # pixels


@catch_failures
def show_strides(t: Tensor) -> Picture:
    """Draw `t` (1 or 2 dimensions, at most 64 elements) above its storage.

    Each element of the tensor has the color of the storage slot that it reads. Slots that it never reads stay gray.
    """
    return _build_picture({"": t})


@catch_failures
def explore_strides(views: Mapping[str, Tensor]) -> Picture:
    """Draw these tensors as show_strides does, one at a time, with a button for each name."""
    return _build_picture(views)


def _build_picture(views: Mapping[str, Tensor]) -> Picture:
    """Build the picture of these views, by name. A view that's too large or not 1-D or 2-D gets only words."""
    for name, t in views.items():
        title = f"{name}: " * bool(name)
        if t.dim() not in (1, 2):
            return Picture(
                f"{title}(no picture: only tensors with 1 or 2 dimensions can be drawn, and this one has {t.dim()})"
            )
        if max(t.numel(), _get_storage(t).numel()) > MAX_CELLS:
            return Picture(f"{title}(no picture: more than {MAX_CELLS} elements)")
    width = max(map(len, views))
    words = [describe_strides(t) for t in views.values()]
    text = "\n".join(f"{name:{width}}  {one}" if name else one for name, one in zip(views, words, strict=True))
    # Copied, since the values may change before they're drawn.
    copies = [
        (find_slots(t) if t.dim() == 2 else [find_slots(t)], _get_storage(t).cpu().clone()) for t in views.values()
    ]
    return Picture(text, lambda: _draw(list(views), words, copies))


def _get_storage(t: Tensor) -> Tensor:
    return torch.empty(0, dtype=t.dtype, device=t.device).set_(t.untyped_storage())


def describe_strides(t: Tensor) -> str:
    """Describe the shape, strides, offset and storage size."""
    size = t.untyped_storage().nbytes() // t.element_size()
    return (
        f"shape {tuple(t.shape)}, strides {tuple(t.stride())}, offset {t.storage_offset()}, storage of {size} elements"
    )


def _draw(names: list[str], words: list[str], copies: list[tuple[list[list[int]], Tensor]]) -> Drawing:
    """Draw each view's elements above its storage. A slot and the elements that read it have the same shade."""
    views, right, bottom = [], 0.0, 0.0
    for number, (line, (rows, storage)) in enumerate(zip(words, copies, strict=True)):
        values = [_format_value(v) for v in storage.tolist()]
        parts = [draw_text(4, 16, line), draw_text(LEFT - 8, TOP + 21, "tensor", anchor="end")]
        for row, slots in enumerate(rows):
            parts += [
                _draw_slot(column, TOP + SIDE * row, values[slot], slot, len(values))
                for column, slot in enumerate(slots)
            ]
        base = TOP + SIDE * (len(rows) + 0.7)
        parts.append(draw_text(LEFT - 8, base + 21, "storage", anchor="end"))
        used = set(itertools.chain.from_iterable(rows))
        for slot, value in enumerate(values):
            parts.append(_draw_slot(slot, base, value, slot if slot in used else -1, len(values)))
            parts.append(draw_text(LEFT + SIDE * (slot + 0.5), base + SIDE + 13, str(slot), anchor="middle", size=10))
        views.append(show_only([number], *parts) if len(names) > 1 else "".join(parts))
        columns = max(len(values), *map(len, rows))
        right, bottom = max(right, LEFT + SIDE * columns + 8, len(line) * 7.0), max(bottom, base + SIDE + 20)
    groups = [Group("view", names)] if len(names) > 1 else []
    return Drawing("A tensor above its storage", right, bottom, views, groups, words)


def _draw_slot(column: int, y: float, value: str, slot: int, count: int) -> str:
    """Draw a slot of the storage.

    Args:
        slot: Its number; -1 if the tensor doesn't read it.
    """
    fill, tint = (choose_shade(slot / max(count - 1, 1)), 0.5) if slot >= 0 else (GRAY, 0.12)
    return draw_cell(LEFT + SIDE * column, y, SIDE - 2, SIDE - 2, value, fill, tint, min(12, 54 / max(len(value), 1)))


def find_slots(t: Tensor) -> list:  # type: ignore[type-arg]
    """Return each element's slot in the storage, offset + sum(index * stride), nested like `t`."""
    grids = [torch.arange(n) * s for n, s in zip(t.shape, t.stride(), strict=True)]
    total = torch.tensor(t.storage_offset())
    for dimension, grid in enumerate(grids):
        total = total + grid.reshape([-1 if d == dimension else 1 for d in range(t.dim())])
    listed: list = total.tolist()  # type: ignore[type-arg]
    return listed


def _format_value(value: float | int | bool) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
