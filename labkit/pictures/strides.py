"""A tensor above its storage, with the slots that its strides reach."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from labkit.pictures.palette import FAINT, MUTED, choose_shade
from labkit.pictures.picture import WIDTH, Drawing, Group, Picture, Table, catch_failures, read_script
from labkit.pictures.svg import SMALL, draw_cell, draw_text, escape_text, show_only

MAX_CELLS = 64  # more would be too small to read
MOST_WIDE, MOST_HIGH, LEAST, LEFT, TOP = 96.0, 44.0, 34.0, 66, 8  # pixels
TINT = 0.5


@catch_failures
def show_strides(t: Tensor) -> Picture:
    """Draw `t` (1 or 2 dimensions, at most 64 elements) above its storage.

    Each element of the tensor has the color of the storage slot that it reads. Slots that it never reads stay gray. The
    reader can point at an element or a slot, or move there by keyboard, to see which of them belong together.
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
    dims = [t.dim() for t in views.values()]
    return Picture(text, lambda: _draw(list(views), words, copies, dims))


def _get_storage(t: Tensor) -> Tensor:
    return torch.empty(0, dtype=t.dtype, device=t.device).set_(t.untyped_storage())


def describe_strides(t: Tensor) -> str:
    """Describe the shape, strides, offset and storage size."""
    size = t.untyped_storage().nbytes() // t.element_size()
    return (
        f"shape {tuple(t.shape)}, strides {tuple(t.stride())}, offset {t.storage_offset()}, storage of {size} elements"
    )


def _draw(
    names: list[str], words: list[str], copies: list[tuple[list[list[int]], Tensor]], dims: Sequence[int]
) -> Drawing:
    """Draw each view's elements above its storage. A slot and the elements that read it have the same shade."""
    most = max(max(len(storage), *map(len, rows)) for rows, storage in copies)
    wide = max(LEAST, min(MOST_WIDE, (WIDTH - LEFT - 8) / max(most, 1)))
    high = min(wide, MOST_HIGH)
    base = TOP + high * (max(len(rows) for rows, _ in copies) + 0.7)
    views = []
    table_rows = [["view"] * bool(names[0]) + ["element", "slot", "value"]]
    for number, (name, (rows, storage), dim) in enumerate(zip(names, copies, dims, strict=True)):
        values = [_format_value(v) for v in storage.tolist()]
        parts = [draw_text(LEFT - 8, TOP + high / 2 + 4, "tensor", anchor="end")]
        for row, slots in enumerate(rows):
            for column, slot in enumerate(slots):
                index = f"({row}, {column})" if dim == 2 else f"({column})"
                label = f"element {index}: {values[slot]}, read from slot {slot}"
                cell = _draw_slot(column, TOP + high * row, values[slot], slot, len(values), wide, high)
                parts.append(_make_part(slot, label, cell))
                table_rows.append([name] * bool(name) + [index, str(slot), values[slot]])
        parts.append(draw_text(LEFT - 8, base + high / 2 + 4, "storage", anchor="end"))
        readers = [len([one for one in itertools.chain(*rows) if one == slot]) for slot in range(len(values))]
        for slot, value in enumerate(values):
            count = {0: "no element", 1: "one element"}.get(readers[slot], f"{readers[slot]} elements")
            shade = slot if readers[slot] else -1
            cell = _draw_slot(slot, base, value, shade, len(values), wide, high)
            parts.append(_make_part(slot, f"slot {slot}: {value}, read by {count}", cell))
            middle = LEFT + wide * (slot + 0.5)
            parts.append(draw_text(middle, base + high + 14, str(slot), MUTED, "middle", SMALL))
        views.append(show_only([number], *parts) if len(names) > 1 else "".join(parts))
    return Drawing(
        "A tensor above its storage",
        max(WIDTH, LEFT + wide * most + 8),
        base + high + 22,
        views,
        [Group("view", names)] if len(names) > 1 else [],
        words,
        caption=True,
        table=Table("Elements as a table", table_rows),
        script=read_script("strides.js"),
    )


def _make_part(slot: int, label: str, cell: str) -> str:
    """Group a cell so a script finds it by its slot and can name it."""
    return f"<g data-slot='{slot}' data-label='{escape_text(label)}'>{cell}</g>"


def _draw_slot(column: int, y: float, value: str, slot: int, count: int, wide: float, high: float) -> str:
    """Draw a slot of the storage.

    Args:
        slot: Its number; -1 if the tensor doesn't read it.
    """
    fill, tint = (choose_shade(slot / max(count - 1, 1)), TINT) if slot >= 0 else (MUTED, FAINT)
    size = min(13.0, 1.45 * wide / max(len(value), 1))
    return draw_cell(LEFT + wide * column, y, wide - 3, high - 3, value, fill, tint, size)


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
