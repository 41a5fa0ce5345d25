"""The dtypes in which a function's operations compute, with and without autocast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from labkit.pictures.palette import BLUE, FAINT, GREEN, MUTED, OCHRE, RED, TINT
from labkit.pictures.picture import WIDTH, Drawing, Group, Picture, Table, catch_failures
from labkit.pictures.svg import draw_cell, draw_text, show_only

COLORS = {torch.float32: BLUE, torch.float16: OCHRE, torch.bfloat16: GREEN, torch.float64: RED}
CAST = "_to_copy"
LEFT, BOX = 190.0, 230.0  # pixels
Row = tuple[str, str, str]  # operation, dtypes in, dtypes out


@catch_failures
def show_dtypes(f: Callable[..., Any], *args: Any, dtypes: Sequence[torch.dtype] = (torch.bfloat16,)) -> Picture:
    """Run f(*args) without autocast and with autocast to each of the dtypes, and draw the dtypes of its operations.

    The device is that of the first tensor among args.
    """
    device = next(t.device.type for t in tree_leaves(args) if isinstance(t, Tensor))
    runs = {"no autocast": _record_rows(f, args, device, None)}
    runs |= {f"autocast to {_format_dtype(dtype)}": _record_rows(f, args, device, dtype) for dtype in dtypes}
    words = [f"{mode}: {', '.join(f'{op} {a} -> {b}' for op, a, b in rows)}" for mode, rows in runs.items()]
    return Picture("\n".join(words), lambda: _draw(runs, words))


class _Recorder(TorchDispatchMode):
    """Records every operation that changes or creates floating-point values."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Row] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        before, after = _format_floats((args, kwargs)), _format_floats(result)
        if before and after and not func.is_view:
            self.rows.append((name, before, after))
        return result


def _record_rows(f: Callable[..., Any], args: tuple[Any, ...], device: str, dtype: torch.dtype | None) -> list[Row]:
    with torch.no_grad(), torch.autocast(device, dtype=dtype, enabled=dtype is not None), _Recorder() as recorder:
        f(*args)
    rows: list[Row] = recorder.rows
    return rows


def _format_floats(values: Any) -> str:
    dtypes = [t.dtype for t in tree_leaves(values) if isinstance(t, Tensor) and t.dtype.is_floating_point]
    return " and ".join(_format_dtype(dtype) for dtype in dict.fromkeys(dtypes))


def _format_dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _draw(runs: dict[str, list[Row]], words: list[str]) -> Drawing:
    parts, height = [], 0.0
    colors = {_format_dtype(dtype): color for dtype, color in COLORS.items()}
    for frame, rows in enumerate(runs.values()):
        y, inside = (
            30.0,
            [
                draw_text(LEFT + BOX / 2, 16, "in", anchor="middle"),
                draw_text(WIDTH - 4 - BOX / 2, 16, "out", anchor="middle"),
            ],
        )
        for name, before, after in rows:
            cast = name == CAST
            inside.append(draw_text(6, y + 19, "cast" if cast else name, MUTED if cast else "currentColor"))
            for x, label in ((LEFT, before), (WIDTH - 4 - BOX, after)):
                inside.append(draw_cell(x, y, BOX, 28, label, colors.get(label, MUTED), FAINT if cast else TINT))
            inside.append(draw_text((LEFT + WIDTH - 4) / 2, y + 19, "→", anchor="middle"))
            y += 34
        parts.append(show_only([frame], *inside))
        height = max(height, y)
    rows_of_table = [[mode, *row] for mode, rows in runs.items() for row in rows]
    table = Table("Operations as a table", [["mode", "operation", "in", "out"], *rows_of_table])
    return Drawing(
        "What operations compute in", WIDTH, height + 4, parts, [Group("mode", list(runs))], words, table=table
    )
